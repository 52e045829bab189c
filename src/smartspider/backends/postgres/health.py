"""Whether the database can be used."""

from __future__ import annotations

import asyncio

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.sql.connection import Connection
from smartspider.core.errors import StoreUnavailable

PATIENCE_S = 2.0


class PostgresHealth:
    """Tries the database out, without changing anything."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def check_writable(self) -> None:
        """Raises `StoreUnavailable` unless a write transaction can be begun and committed soon."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._db.write_beside(_lock)
        except TimeoutError:
            raise StoreUnavailable(
                f"the store at {self._db.place} did not take a change within {PATIENCE_S:g} s",
                hint="check that PostgreSQL runs there and is not overloaded",
            ) from None


def _lock(connection: Connection) -> None:
    """Lock a row, which a server refuses that takes no changes, and which is written to its disk."""
    connection.execute("SELECT version FROM format FOR KEY SHARE")
