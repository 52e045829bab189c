"""Contracts of the ledger: settling, limits, redirects, dedup and revisits."""
