"""Whether the data folder can be used."""

from __future__ import annotations

import asyncio
from shutil import disk_usage

from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.core.errors import StoreFull, StoreUnavailable

PATIENCE_S = 2.0
LEAST_FREE = 1_000_000
"""Bytes on its disk; with less, hardly anything can be saved."""


class SqliteHealth:
    """Tries the folder out, without changing anything."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def check_writable(self) -> None:
        """Raises `StoreUnavailable` unless a write transaction can be begun and committed soon."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._db.write(lambda _: None)
        except TimeoutError:
            raise StoreUnavailable(
                f"the data folder was locked by another program for {PATIENCE_S:g} s",
                hint="look for a program that holds it open",
            ) from None
        await self.check_room()  # an empty transaction does not notice that

    async def check_room(self) -> None:
        """Raises `StoreFull` when the disk is full; it is asked without a transaction."""
        if disk_usage(self._db.folder).free < LEAST_FREE:
            raise StoreFull(f"the disk of the data folder {self._db.folder} is full", hint="make room on it")
