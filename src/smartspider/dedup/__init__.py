"""Deduplication of URLs in front of the store: filters, worker memory, and the ledger that uses them.

Read `url_filter.py`, then `ledger.py`. The store's unique key decides; a filter only saves it work.
"""
