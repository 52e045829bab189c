"""File formats: each module writes items to one kind of file."""
