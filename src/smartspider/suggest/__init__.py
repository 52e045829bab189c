"""Suggest rules for an unknown page: its lists, their fields and the next page."""
