"""What the grounds of the contract suites have alike on all SQL: every store but the one with the URLs."""

from __future__ import annotations

from smartspider.backends.sql.answers import SqlAnswerStore
from smartspider.backends.sql.audit import SqlAuditLog
from smartspider.backends.sql.connection import Database
from smartspider.backends.sql.events import SqlEventFeed
from smartspider.backends.sql.insight import SqlInsight
from smartspider.backends.sql.leadership import SqlLeadership
from smartspider.backends.sql.logs import SqlLogStore
from smartspider.backends.sql.metrics import SqlMetricStore
from smartspider.backends.sql.notices import SqlNoticeStore
from smartspider.backends.sql.results import SqlResultStore
from smartspider.backends.sql.scaling import SqlScalingStore
from smartspider.backends.sql.schedules import SqlScheduleStore
from smartspider.backends.sql.tasks import SqlTaskStore
from smartspider.backends.sql.users import SqlUserStore
from smartspider_testing.contracts.ground import Ground


class SqlGround(Ground):
    """A ground whose stores are opened on one database."""

    def _open_stores(self, database: Database) -> None:
        self.answers = SqlAnswerStore(database)
        self.audit = SqlAuditLog(database)
        self.events = SqlEventFeed(database)
        self.insight = SqlInsight(database)
        self.leadership = SqlLeadership(database)
        self.logs = SqlLogStore(database)
        self.metrics = SqlMetricStore(database)
        self.notices = SqlNoticeStore(database)
        self.results = SqlResultStore(database)
        self.scaling = SqlScalingStore(database)
        self.schedules = SqlScheduleStore(database)
        self.tasks = SqlTaskStore(database)
        self.users = SqlUserStore(database)
