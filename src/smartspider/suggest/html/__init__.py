"""Lists in the elements of an HTML page."""
