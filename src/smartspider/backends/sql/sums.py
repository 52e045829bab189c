"""What a settle adds to a run's counters."""

from __future__ import annotations

import msgspec

from smartspider.core.verdict import UrlState


class Sums(msgspec.Struct):
    """Counted while verdicts are carried out, written once at the end."""

    total: int = 0
    done: int = 0
    redirect: int = 0
    missing: int = 0
    skipped: int = 0
    dead: int = 0
    broken: int = 0
    items: int = 0
    rejected: int = 0
    duplicates: int = 0
    updated: int = 0
    duplicate_urls: int = 0
    retries: int = 0
    late: int = 0
    bytes_read: int = 0
    closed: int = 0

    def count(self, state: UrlState, by: int = 1) -> None:
        """Count a row into or out of a state."""
        if state != "open":
            setattr(self, state, getattr(self, state) + by)
