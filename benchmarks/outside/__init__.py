"""Suites and pages that others wrote, fetched when a benchmark runs and never part of this repository."""
