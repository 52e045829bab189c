"""Cookies of the vault, lent to the requests of a run."""
