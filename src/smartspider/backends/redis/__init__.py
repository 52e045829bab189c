"""The frontier on Redis: an index of the open rows that may be wiped at any time."""
