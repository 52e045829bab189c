"""Whether the data folder can be used."""

from __future__ import annotations

import asyncio

from smartspider.backends.sqlite.database import Database
from smartspider.core.errors import StoreUnavailable

PATIENCE_S = 2.0


class SqliteHealth:
    """Tries the folder out, without changing anything."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def check_writable(self) -> None:
        """Raises `StoreUnavailable` unless a write transaction can be begun and committed soon."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._db.write(lambda _connection: None)
        except TimeoutError:
            raise StoreUnavailable(
                f"the data folder was locked by another program for {PATIENCE_S:g} s",
                hint="look for a program that holds it open",
            ) from None
