"""Health checks of the data folder."""

from __future__ import annotations

import asyncio
from shutil import disk_usage

from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.core.errors import StoreFull, StoreUnavailable

TIMEOUT_S = 2.0
MIN_FREE = 1_000_000
"""Free bytes on its disk; with less, hardly anything can be written."""


class SqliteHealth:
    """Checks the folder without changing anything."""

    def __init__(self, database: SqliteDatabase, *, min_free: int = MIN_FREE) -> None:
        self._db, self._min_free = database, min_free

    async def check_writable(self) -> None:
        """Raise `StoreUnavailable` unless a write transaction can be committed soon."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._db.write(lambda _: None)
        except TimeoutError:
            raise StoreUnavailable(
                f"the data folder was locked by another program for {TIMEOUT_S:g} s",
                hint="stop the program that holds the lock",
            ) from None
        await self.check_room()  # an empty transaction succeeds on a full disk

    async def check_room(self) -> None:
        """Raise `StoreFull` if the disk is full, without a transaction."""
        if disk_usage(self._db.folder).free < self._min_free:
            raise StoreFull(f"the disk of the data folder {self._db.folder} is full", hint="free space on it")
