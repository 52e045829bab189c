"""Rows of runs: listing, comparison, export and output files."""
