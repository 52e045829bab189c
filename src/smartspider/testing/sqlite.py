"""The ground of the contract suites and the simulation on SQLite."""

from __future__ import annotations

from pathlib import Path

from smartspider.backends.sql.answers import SqlAnswerStore
from smartspider.backends.sql.audit import SqlAuditLog
from smartspider.backends.sql.events import SqlEventFeed
from smartspider.backends.sql.insight import SqlInsight
from smartspider.backends.sql.leadership import SqlLeadership
from smartspider.backends.sql.logs import SqlLogStore
from smartspider.backends.sql.metrics import SqlMetricStore
from smartspider.backends.sql.notices import SqlNoticeStore
from smartspider.backends.sql.results import SqlResultStore
from smartspider.backends.sql.schedules import SqlScheduleStore
from smartspider.backends.sql.tasks import SqlTaskStore
from smartspider.backends.sql.users import SqlUserStore
from smartspider.backends.sqlite.database import Database
from smartspider.backends.sqlite.frontier import SqliteFrontier
from smartspider.backends.sqlite.ledger import sqlite_ledger
from smartspider.backends.sqlite.migrations import prepare
from smartspider.backends.sqlite.store import SqliteStore
from smartspider.backends.sqlite.workers import sqlite_workers
from smartspider.testing.clock import ManualClock
from smartspider.testing.contracts.ground import Ground


class MortalFrontier(SqliteFrontier):
    """A frontier whose workers can die while the process goes on: the kernel's part is played by hand."""

    def lose(self, worker_id: int) -> None:
        """Let go of a worker's lock and nothing else."""
        self._locks.pop(worker_id).release()

    def lose_all(self) -> None:
        """Let go of every lock of the process."""
        for worker_id in list(self._locks):
            self.lose(worker_id)


class SqliteGround(Ground):
    """A data folder as one process sees it."""

    def __init__(self, folder: Path, clock: ManualClock) -> None:
        prepare(folder)
        self.folder = folder
        self.clock = clock
        self._others: list[SqliteGround] = []
        self._open()

    def _open(self) -> None:
        self.database = Database(self.folder, self.clock)
        self.store = self.robots = SqliteStore(self.database)
        self.frontier: MortalFrontier = MortalFrontier(self.database)
        self.ledger = sqlite_ledger(self.database)
        self.tasks = SqlTaskStore(self.database)
        self.results = SqlResultStore(self.database)
        self.audit = SqlAuditLog(self.database)
        self.workers = sqlite_workers(self.database)
        self.events = SqlEventFeed(self.database)
        self.schedules = SqlScheduleStore(self.database)
        self.leadership = SqlLeadership(self.database)
        self.notices = SqlNoticeStore(self.database)
        self.logs = SqlLogStore(self.database)
        self.metrics = SqlMetricStore(self.database)
        self.insight = SqlInsight(self.database)
        self.users = SqlUserStore(self.database)
        self.answers = SqlAnswerStore(self.database)

    async def another(self) -> SqliteGround:
        """A second connection with presence locks of its own."""
        ground = SqliteGround(self.folder, self.clock)
        self._others.append(ground)
        return ground

    async def lose(self, worker_id: int) -> None:
        """The kernel lets go of the worker's lock."""
        self.frontier.lose(worker_id)

    async def reopen(self) -> None:
        """The kernel lets go of all locks and the connection."""
        self._shut()
        self._open()

    async def close(self) -> None:
        """Let go of the folder."""
        for other in self._others:
            await other.close()
        self._others.clear()
        self._shut()

    def _shut(self) -> None:
        self.frontier.lose_all()
        self.database.close()
