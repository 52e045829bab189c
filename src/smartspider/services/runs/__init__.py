"""Runs: start, control, status, progress and stalls."""
