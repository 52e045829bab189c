"""Health checks of the database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.core.errors import StoreUnavailable
from smartspider.store.database import Connection

TIMEOUT_S = 2.0
FRESH_S = 1.0
BEGIN_PROBE = "SELECT set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true)"
PROBE = (
    "SELECT count(*) FROM (SELECT repeat(md5(number::text), 32) AS text"
    " FROM generate_series(1, 1000) AS number ORDER BY 1 OFFSET 0) AS sorted"
)
"""Sorts more than fits into memory: 1 MB is written to the disk of the database and deleted with the
statement. Inserting a row would not do: it may fit into an existing page long after the disk is full.
"""


class PostgresHealth:
    """Checks the database without changing anything."""

    def __init__(self, database: PostgresDatabase, *, timeout_s: float = TIMEOUT_S) -> None:
        self._db, self._timeout_s = database, timeout_s
        self._looked_at = float("-inf")
        self._found: StoreUnavailable | None = None

    async def check_writable(self) -> None:
        """Raise `StoreUnavailable` unless a write transaction can be committed soon, and `StoreFull` if there
        is no disk space.
        """
        await self._soon(_lock_and_write)

    async def check_room(self) -> None:
        """Raise `StoreFull` if the disk of the database is full. The result may be cached for a moment."""
        now = self._db.clock.monotonic()
        if now - self._looked_at >= FRESH_S:
            self._looked_at = now
            self._found = None
            try:
                await self._soon(_write)
            except StoreUnavailable as error:
                self._found = error
        if self._found is not None:
            raise self._found

    async def _soon(self, work: Callable[[Connection], None]) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._db.write_concurrently(work)
        except TimeoutError:
            raise StoreUnavailable(
                f"the store at {self._db.place} did not accept a write within {self._timeout_s:g} s",
                hint="check that PostgreSQL runs there and is not overloaded",
            ) from None


def _lock_and_write(connection: Connection) -> None:
    """Lock a row, which a read-only server refuses."""
    connection.execute("SELECT version FROM format FOR KEY SHARE")
    _write(connection)


def _write(connection: Connection) -> None:
    connection.execute(BEGIN_PROBE)
    connection.execute(PROBE)
