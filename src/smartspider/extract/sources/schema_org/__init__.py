"""Products and lists from schema.org data."""
