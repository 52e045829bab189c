"""Parsing: from the bytes of a page to trees, JSON values and text."""
