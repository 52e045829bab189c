"""Notations of numbers, currencies and dates: pure functions that read texts."""
