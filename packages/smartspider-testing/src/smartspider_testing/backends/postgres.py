"""PostgreSQL for the contract suites: all stores, without a frontier."""

from __future__ import annotations

import psycopg

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.store import PostgresStore
from smartspider.backends.postgres.store_time import StoreTime
from smartspider.backends.postgres.workers import PostgresLeadership
from smartspider.store.database import Row
from smartspider_testing.backends.sql import SqlBackend
from smartspider_testing.clock import ManualClock


class ManualTime(StoreTime):
    """Store time from a manual clock; processes that share it agree, as they do on a server's clock."""

    def follow(self, connection: psycopg.Connection[Row]) -> None:
        """Ignore the server's clock."""

    def take_turn(self) -> bool:
        """Never compare with it."""
        return False


class PostgresBackend(SqlBackend):
    """A database as one process sees it. `prepare` has created the schema at `url`."""

    def __init__(self, url: str, clock: ManualClock, times: ManualTime | None = None) -> None:
        self.url = url
        self.clock = clock
        self.times = times or ManualTime(clock)
        self._others: list[PostgresBackend] = []
        self.open()

    def open(self) -> None:
        """Open the data."""
        self.database = PostgresDatabase(self.url, self.clock, self.times)
        self._open_stores(self.database)
        self.leadership = PostgresLeadership(self.database)
        self.store = self.robots = PostgresStore(self.database)

    async def another(self) -> PostgresBackend:
        """Open the same data with a second connection pool."""
        backend = type(self)(self.url, self.clock, self.times)
        self._others.append(backend)
        return backend

    async def lose(self, worker_id: int) -> None:
        """Raise: there is no frontier, so no worker has joined."""
        raise NotImplementedError(f"there is no worker {worker_id}")

    async def reopen(self) -> None:
        """Close all connections and open new ones."""
        self._shut()
        self.open()

    async def close(self) -> None:
        """Close all connections."""
        for other in self._others:
            await other.close()
        self._others.clear()
        self._shut()

    def _shut(self) -> None:
        self.database.close()
