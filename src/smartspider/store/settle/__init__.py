"""Settle."""
