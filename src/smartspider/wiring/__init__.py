"""The only place that knows which backends there are."""
