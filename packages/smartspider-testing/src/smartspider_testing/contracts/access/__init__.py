"""Access."""
