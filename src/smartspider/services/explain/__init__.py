"""Explanations of why a URL was fetched or not."""
