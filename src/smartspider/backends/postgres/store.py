"""The run store on PostgreSQL, with updates for a frontier outside of it; and the health of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from smartspider.backends.postgres.connection import STANDSTILL_S
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.core.errors import StoreUnavailable
from smartspider.interfaces.ledger import FrontierUpdater
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.store.database import Connection, rows
from smartspider.store.hosts import gates
from smartspider.store.runs import fsck
from smartspider.store.runs.fsck import Finding
from smartspider.store.runs.store import RunStore
from smartspider.store.statements import load

SQL = load("sql/sizes.sql", __package__)
CLIENTS = load("sql/stopped_clients.sql", __package__)

PURPOSES = {
    "url": "requests",
    "item": "items",
    "item_key": "items",
    "reject": "rejects",
    "cleaning": "cleaning log",
    "visited": "revisits",
    "event": "events",
    "log": "logs",
    "lane": "queue",
    "lease": "queue",
    "load": "queue",
}
"""The purpose of tables with their indexes."""


class PostgresStore(RunStore):
    """See `store/runs/store.py` and `interfaces/robots_cache.py`. `frontier` gets changed gates."""

    def __init__(self, database: PostgresDatabase, frontier: FrontierUpdater | None = None) -> None:
        super().__init__(database)
        self._postgres = database
        self._frontier = frontier

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:
        """Store the robots.txt of a host. Its gate has the Crawl-delay before this returns."""
        _, update = await self._postgres.write_with_updates(
            lambda connection: gates.store_robots(connection, answer, host, crawl_delay_s)
        )
        if self._frontier is not None and not update.is_empty:
            await self._frontier.apply(update)

    async def fsck(self, *, repair: bool = False) -> list[Finding]:
        """Check the consistency of the store, without a time limit; the frontier has its own check."""
        return await self._postgres.without_timeout(
            lambda connection: fsck.check(connection, self._postgres.now(), repair=repair), is_writing=repair
        )

    async def sizes(self) -> dict[str, int]:
        """Return the size of the database by purpose."""

        def work(connection: Connection) -> dict[str, int]:
            sizes = dict.fromkeys((*PURPOSES.values(), "other"), 0)
            for name, size in rows(connection, SQL.tables):
                sizes[PURPOSES.get(name, "other")] += size
            sizes["file"] = sum(size for (size,) in rows(connection, SQL.database))
            return sizes

        return await self._postgres.read(work)


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
    """Checks the database, and ends sessions that are in the way of others."""

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

    async def end_stopped_clients(self) -> int:
        """End the sessions of clients that stopped while they sent statements; return their number. Elsewhere
        timeouts of the server do it.
        """
        ((count,),) = await self._db.fetch(CLIENTS.end, (float(STANDSTILL_S),))
        return int(count)

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
