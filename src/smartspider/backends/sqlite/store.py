"""The run store on SQLite, operations on its file, and the health checks of the folder."""

from __future__ import annotations

import asyncio
from shutil import disk_usage

from smartspider.backends.sqlite import fsck as own
from smartspider.backends.sqlite.database import FILE, SqliteDatabase
from smartspider.core.errors import StoreFull, StoreUnavailable
from smartspider.store.database import Connection, rows
from smartspider.store.runs import fsck
from smartspider.store.runs.fsck import Finding
from smartspider.store.runs.store import RunStore

PURPOSES = {
    "url": "requests",
    "item": "items",
    "reject": "rejects",
    "cleaning": "cleaning log",
    "visited": "revisits",
    "event": "events",
    "queue": "queue",
    "lane": "queue",
    "later": "queue",
    "lease": "queue",
}
"""The purpose of tables and indexes, by the first word of their names."""


class SqliteStore(RunStore):
    """See `store/runs/store.py` and `interfaces/robots_cache.py`."""

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self._file = database

    async def fsck(self, *, repair: bool = False) -> list[Finding]:
        """Check the consistency of the store and the frontier."""
        damage = await self._file.read(own.damage)
        if damage:
            return damage
        ask = self._file.write if repair else self._file.read
        return await ask(
            lambda connection: fsck.check(connection, self._file.now(), repair=repair, frontier=own.FRONTIER)
        )

    async def sizes(self) -> dict[str, int]:
        """Return the size of the data folder by purpose."""

        def work(connection: Connection) -> dict[str, int]:
            sizes = dict.fromkeys((*PURPOSES.values(), "other"), 0)
            for name, size in rows(connection, "SELECT name, sum(pgsize) FROM dbstat GROUP BY name"):
                sizes[PURPOSES.get(str(name).partition("_")[0], "other")] += size
            return sizes

        sizes = await self._file.read(work)
        sizes["logs"] = sum(path.stat().st_size for path in self._file.folder.glob("logs/*"))
        sizes["file"] = sum(path.stat().st_size for path in self._file.folder.glob(f"{FILE}*"))
        return sizes

    async def compact(self) -> None:
        """Return the space of deleted rows to the disk. Refused while workers use the folder."""
        if await self._file.read(lambda connection: rows(connection, "SELECT 1 FROM worker LIMIT 1")):
            raise StoreUnavailable(f"the data folder {self._file.folder} is in use", hint="try again later")
        self._file.compact()


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
