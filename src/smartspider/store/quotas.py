"""Counts what users own, for quotas."""

from __future__ import annotations

from smartspider.core.limits.quotas import QuotaKind
from smartspider.store import statements
from smartspider.store.database import Connection, Database, row

SQL = statements.load("quotas.sql", __package__)


class QuotaStore:
    """1. A count stops at its limit, so its cost is bounded.
    2. An owner that is neither a user nor a token, such as the crawler itself, is not limited.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def count(self, kind: QuotaKind, owner: str, limit: int) -> int:
        """Return how many of a kind an owner has, at most `limit`."""
        now = self._db.now()
        values = (owner, limit, now) if kind == "tokens" else (owner, limit)
        statement = {
            "tasks": SQL.tasks,
            "schedules": SQL.schedules,
            "notifications": SQL.notifications,
            "tokens": SQL.tokens,
            "runs": SQL.runs,
        }[kind]

        def work(connection: Connection) -> int:
            found = row(connection, statement, values)
            return int(found[0]) if found else 0

        return await self._db.read(work)

    async def is_limited(self, owner: str) -> bool:
        """Return whether quotas apply to an owner: not to admins."""
        return await self._db.read(lambda connection: row(connection, SQL.is_limited, (owner,)) is not None)
