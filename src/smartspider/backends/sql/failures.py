"""Fetches that failed, as a settle hears of them and writes them at once. Runs inside a transaction."""

from __future__ import annotations

from collections import Counter

from smartspider.backends.sql import statements
from smartspider.backends.sql.connection import Connection
from smartspider.core.verdict import Settlement

SQL = statements.load("ledger.sql")


class Failures:
    """How often requests failed, and why: the last few reasons of each are kept."""

    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self._counts: Counter[int] = Counter()
        self._attempts: list[tuple[object, ...]] = []

    def count(self, url_id: int) -> None:
        """It uses up one of the attempts of a request."""
        self._counts[url_id] += 1

    def hear(self, settlement: Settlement, status: int | None, reason: str) -> None:
        """Take in what went wrong."""
        record = (settlement.lease.url_id, self._now, status, reason, settlement.elapsed_s)
        self._attempts.append(record)

    def write(self) -> None:
        """Put everything into the store."""
        counts = [(count, url_id) for url_id, count in sorted(self._counts.items())]
        self._connection.executemany(SQL.count_failure, counts)
        self._connection.executemany(SQL.add_attempt, self._attempts)
        failed = dict.fromkeys(attempt[0] for attempt in self._attempts)
        self._connection.executemany(SQL.trim_attempts, [(url_id,) for url_id in failed])
