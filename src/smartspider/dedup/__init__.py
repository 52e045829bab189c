"""Dedup."""
