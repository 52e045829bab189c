"""Stored positions of consumers in feeds."""

from __future__ import annotations

from smartspider.store import statements
from smartspider.store.database import Connection, Database, row
from smartspider.store.nodes import leadership

SQL = statements.load("positions.sql", __package__)

NOTIFICATIONS = "notifications"
"""The consumer that writes notifications of events."""


class StoredPosition:
    """The position of a consumer, a row of the store; see `Position` in `interfaces/sink.py`."""

    def __init__(self, database: Database, consumer: str, *, epoch: int) -> None:
        self._db = database
        self._consumer = consumer
        self._epoch = epoch

    async def read(self) -> int:
        """Return the position."""
        found = await self._db.read(lambda connection: row(connection, SQL.position, (self._consumer,)))
        return int(found[0]) if found else 0

    async def advance(self, version: int) -> None:
        """Move the position forward; raise `LeadershipLost` unless the epoch still leads."""

        def work(connection: Connection) -> None:
            leadership.check(connection, self._epoch)
            connection.execute(SQL.advance, (self._consumer, version))

        await self._db.write(work)
