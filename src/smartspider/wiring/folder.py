"""Open a data folder: store, frontier and ledger in one SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.backends.sqlite.demand import SqliteDemand
from smartspider.backends.sqlite.frontier import SqliteFrontier, SqlitePermits, SqliteReplay
from smartspider.backends.sqlite.health import SqliteHealth
from smartspider.backends.sqlite.ledger import SqliteLedger
from smartspider.backends.sqlite.schema import prepare
from smartspider.backends.sqlite.store import SqliteStore
from smartspider.backends.sqlite.worker_locks import sqlite_workers
from smartspider.core.tasks import SYSTEM
from smartspider.engine.runtime import SystemClock
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.settings import Settings
from smartspider.store.access.users import UserStore
from smartspider.store.audit import AuditLog
from smartspider.store.diagnostics.store import Diagnostics
from smartspider.store.events import EventFeed
from smartspider.store.hosts.store import HostStore
from smartspider.store.idempotency import IdempotencyStore
from smartspider.store.logs.store import LogStore
from smartspider.store.metrics import MetricStore
from smartspider.store.nodes.leadership import SqlLeadership
from smartspider.store.nodes.scaling import ScalingStore
from smartspider.store.notifications import NotificationStore
from smartspider.store.requests import SqlStoredUrls
from smartspider.store.results.store import ResultStore
from smartspider.store.schedules import ScheduleStore
from smartspider.store.tasks import TaskStore


@contextmanager
def open_folder(path: Path, actor: str = SYSTEM, settings: Settings = Settings()) -> Iterator[DataFolder]:
    """Open a data folder, created or migrated if needed, and close it at the end; `actor` is
    for the audit.
    """
    clock = SystemClock()
    prepare(path)
    database = SqliteDatabase(path, clock)
    try:
        yield DataFolder(
            path=path,
            settings=settings,
            store=SqliteStore(database),
            frontier=SqliteFrontier(database),
            ledger=SqliteLedger(database),
            tasks=TaskStore(database),
            results=ResultStore(database),
            audit=AuditLog(database),
            workers=sqlite_workers(database),
            hosts=HostStore(database),
            events=EventFeed(database),
            logs=LogStore(database),
            metrics=MetricStore(database),
            users=UserStore(database),
            idempotency=IdempotencyStore(database),
            check_writable=SqliteHealth(database).check_writable,
            check_room=SqliteHealth(database).check_room,
            permits=SqlitePermits(database),
            diagnostics=Diagnostics(database),
            schedules=ScheduleStore(database),
            leadership=SqlLeadership(database),
            notifications=NotificationStore(database),
            scaling=ScalingStore(database),
            demand=SqliteDemand(database),
            stored_urls=SqlStoredUrls(database),
            replay=SqliteReplay(database),
            clock=clock,
            actor=actor,
        )
    finally:
        database.close()
