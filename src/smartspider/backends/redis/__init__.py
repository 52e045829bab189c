"""The frontier on Redis: an index of the open rows that may be lost at any time."""
