"""Runs and their requests."""
