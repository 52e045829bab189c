"""SQLite for the contract suites and the simulation."""

from __future__ import annotations

from pathlib import Path

from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.backends.sqlite.demand import SqliteDemand
from smartspider.backends.sqlite.frontier import SqliteFrontier
from smartspider.backends.sqlite.ledger import SqliteLedger
from smartspider.backends.sqlite.schema import prepare
from smartspider.backends.sqlite.store import SqliteStore
from smartspider.backends.sqlite.worker_locks import sqlite_workers
from smartspider_testing.backends.sql import SqlBackend
from smartspider_testing.clock import ManualClock


class KillableFrontier(SqliteFrontier):
    """A frontier whose workers can die while the process lives: a test releases their locks as the kernel
    would.
    """

    def lose(self, worker_id: int) -> None:
        """Release the lock of a worker."""
        self._locks.pop(worker_id).release()

    def lose_all(self) -> None:
        """Release every lock of the process."""
        for worker_id in list(self._locks):
            self.lose(worker_id)


class SqliteBackend(SqlBackend):
    """A data folder as one process sees it."""

    def __init__(self, folder: Path, clock: ManualClock) -> None:
        prepare(folder)
        self.folder = folder
        self.clock = clock
        self._others: list[SqliteBackend] = []
        self.open()

    def open(self) -> None:
        """Open the data."""
        self.database = SqliteDatabase(self.folder, self.clock)
        self._open_stores(self.database)
        self.store = self.robots = SqliteStore(self.database)
        self.frontier: KillableFrontier = KillableFrontier(self.database)
        self.ledger = SqliteLedger(self.database)
        self.workers = sqlite_workers(self.database)
        self.demand = SqliteDemand(self.database)

    async def another(self) -> SqliteBackend:
        """Open the same data with a second connection and locks of its own."""
        backend = SqliteBackend(self.folder, self.clock)
        self._others.append(backend)
        return backend

    async def lose(self, worker_id: int) -> None:
        """Release the worker's lock, as the kernel does."""
        self.frontier.lose(worker_id)

    async def reopen(self) -> None:
        """Release all locks and reopen the connection."""
        self._shut()
        self.open()

    async def close(self) -> None:
        """Close the folder."""
        for other in self._others:
            await other.close()
        self._others.clear()
        self._shut()

    def _shut(self) -> None:
        self.frontier.lose_all()
        self.database.close()
