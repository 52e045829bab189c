"""Log lines and their search."""
