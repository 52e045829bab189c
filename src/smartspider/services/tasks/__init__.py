"""Tasks and their versions."""
