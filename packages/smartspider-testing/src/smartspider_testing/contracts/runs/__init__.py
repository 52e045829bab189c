"""Contracts of runs: states, listings, retries, settings and events."""
