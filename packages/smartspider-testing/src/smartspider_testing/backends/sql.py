"""Shared by the SQL backends of the contract suites: every store except that of URLs."""

from __future__ import annotations

from functools import partial

from smartspider.store.access.users import UserStore
from smartspider.store.audit import AuditLog
from smartspider.store.cookie_sets import CookieSetStore
from smartspider.store.database import Database
from smartspider.store.diagnostics.store import Diagnostics
from smartspider.store.events import EventFeed
from smartspider.store.idempotency import IdempotencyStore
from smartspider.store.logs.store import LogStore
from smartspider.store.metrics import MetricStore
from smartspider.store.nodes.leadership import SqlLeadership
from smartspider.store.nodes.workers import ScalingStore
from smartspider.store.notifications import NotificationStore
from smartspider.store.positions import StoredPosition
from smartspider.store.proxies import ProxyStore
from smartspider.store.quotas import QuotaStore
from smartspider.store.results.store import ResultStore
from smartspider.store.schedules import ScheduleStore
from smartspider.store.tasks import TaskStore
from smartspider.store.vault import VaultStore
from smartspider_testing.contracts.backend import Backend


class SqlBackend(Backend):
    """A backend whose stores share one database."""

    def _open_stores(self, database: Database) -> None:
        self.answers = IdempotencyStore(database)
        self.audit = AuditLog(database)
        self.events = EventFeed(database)
        self.insight = Diagnostics(database)
        self.leadership = SqlLeadership(database)
        self.logs = LogStore(database)
        self.metrics = MetricStore(database)
        self.notices = NotificationStore(database)
        self.position = partial(StoredPosition, database)
        self.quotas = QuotaStore(database)
        self.vault = VaultStore(database)
        self.proxies = ProxyStore(database)
        self.cookie_sets = CookieSetStore(database)
        self.results = ResultStore(database)
        self.scaling = ScalingStore(database)
        self.schedules = ScheduleStore(database)
        self.tasks = TaskStore(database)
        self.users = UserStore(database)
