"""Schema org."""
