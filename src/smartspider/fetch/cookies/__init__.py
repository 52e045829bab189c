"""The cookies of HTTP sessions."""
