"""Subscribers to events: logs."""
