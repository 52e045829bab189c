"""Comparing the frontier with the open rows, on SQLite."""

from __future__ import annotations

from smartspider.store import statements
from smartspider.store.database import Connection, Database, row, rows

SQL = statements.load("sql/replay.sql", __package__)


class SqliteReplay:
    """See `interfaces/frontier.py`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def is_whole(self, run_id: int) -> bool:
        """Return whether as many requests are queued, waiting or leased as rows are open."""

        def work(connection: Connection) -> bool:
            is_open = row(connection, SQL.open, (run_id,))
            return is_open is None or row(connection, SQL.live, (run_id,)) == is_open

        return await self._db.read(work)

    async def open_rows(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[int]:
        """Return ids of open rows of a run that are greater than `after`."""
        return await self._db.read(
            lambda connection: [
                url_id for (url_id,) in rows(connection, SQL.open_rows, (run_id, after, limit))
            ]
        )
