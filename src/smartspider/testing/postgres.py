"""The ground of the contract suites on PostgreSQL: all stores, without a frontier."""

from __future__ import annotations

import psycopg

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.store import PostgresStore
from smartspider.backends.postgres.times import StoreTime
from smartspider.backends.sql.answers import SqlAnswerStore
from smartspider.backends.sql.audit import SqlAuditLog
from smartspider.backends.sql.connection import Row
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
from smartspider.testing.clock import ManualClock
from smartspider.testing.contracts.ground import Ground


class ManualTime(StoreTime):
    """Store time by a clock that is turned by hand; processes that share it agree, as with a server's."""

    def follow(self, connection: psycopg.Connection[Row]) -> None:
        """The server's clock is not looked at."""


class PostgresGround(Ground):
    """A database as one process sees it. `url` is one that `prepare` has made ready."""

    def __init__(self, url: str, clock: ManualClock, times: ManualTime | None = None) -> None:
        self.url = url
        self.clock = clock
        self.times = times or ManualTime(clock)
        self._others: list[PostgresGround] = []
        self._open()

    def _open(self) -> None:
        self.database = PostgresDatabase(self.url, self.clock, self.times)
        self.store = self.robots = PostgresStore(self.database)
        self.tasks = SqlTaskStore(self.database)
        self.results = SqlResultStore(self.database)
        self.audit = SqlAuditLog(self.database)
        self.events = SqlEventFeed(self.database)
        self.schedules = SqlScheduleStore(self.database)
        self.leadership = SqlLeadership(self.database)
        self.notices = SqlNoticeStore(self.database)
        self.logs = SqlLogStore(self.database)
        self.metrics = SqlMetricStore(self.database)
        self.insight = SqlInsight(self.database)
        self.users = SqlUserStore(self.database)
        self.answers = SqlAnswerStore(self.database)

    async def another(self) -> PostgresGround:
        """A second pool of connections."""
        ground = type(self)(self.url, self.clock, self.times)
        self._others.append(ground)
        return ground

    async def lose(self, worker_id: int) -> None:
        """Without a frontier nobody joined."""
        raise NotImplementedError(f"there is no worker {worker_id}")

    async def reopen(self) -> None:
        """All connections are let go of, and others are opened."""
        self._shut()
        self._open()

    async def close(self) -> None:
        """Let go of the database."""
        for other in self._others:
            await other.close()
        self._others.clear()
        self._shut()

    def _shut(self) -> None:
        self.database.close()
