"""Logs and metrics: subscribers to the event bus, and the process log."""
