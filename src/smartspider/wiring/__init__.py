"""Open installations and start processes; the only package that names concrete backends."""
