"""Reading pages: rules compiled once per task, one parse per page."""
