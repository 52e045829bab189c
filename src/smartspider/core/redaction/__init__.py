"""Redaction of secrets: by name, by value, and by the reader of an answer."""
