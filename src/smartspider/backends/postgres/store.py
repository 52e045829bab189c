"""The run store on PostgreSQL, with updates for a frontier outside of it."""

from __future__ import annotations

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.interfaces.ledger import FrontierUpdater
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.store.database import Connection, rows
from smartspider.store.hosts import gates
from smartspider.store.runs import fsck
from smartspider.store.runs.fsck import Finding
from smartspider.store.runs.store import RunStore
from smartspider.store.statements import load

SQL = load("sql/sizes.sql", __package__)

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
