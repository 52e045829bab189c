"""Open a data folder: store, frontier and ledger in one SQLite file. Refuse one that was moved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from smartspider.backends.sqlite.database import FILE, SqliteDatabase, connect
from smartspider.backends.sqlite.demand import SqliteDemand
from smartspider.backends.sqlite.frontier import SqliteFrontier, SqlitePermits, SqliteReplay
from smartspider.backends.sqlite.ledger import SqliteLedger
from smartspider.backends.sqlite.move_marker import folder_moved, read_marker
from smartspider.backends.sqlite.schema import prepare
from smartspider.backends.sqlite.store import SqliteHealth, SqliteStore
from smartspider.backends.sqlite.worker_locks import sqlite_workers
from smartspider.core.tasks import SYSTEM
from smartspider.engine.runtime import SystemClock
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.settings import Settings, read_settings
from smartspider.store.nodes.leadership import SqlLeadership
from smartspider.store.requests import SqlStoredUrls


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
            database=database,
            store=SqliteStore(database),
            frontier=SqliteFrontier(database),
            ledger=SqliteLedger(database),
            workers=sqlite_workers(database),
            check_writable=SqliteHealth(database).check_writable,
            check_room=SqliteHealth(database).check_room,
            permits=SqlitePermits(database),
            leadership=SqlLeadership(database),
            demand=SqliteDemand(database),
            stored_urls=SqlStoredUrls(database),
            replay=SqliteReplay(database),
            clock=clock,
            actor=actor,
        )
    finally:
        database.close()


def check_not_moved(path: Path) -> None:
    """Raise `NotAllowed` for a folder that was or is being moved, unless the settings name a cluster."""
    if not read_settings().is_cluster:
        check_folder_not_moved(path)


def check_folder_not_moved(path: Path) -> None:
    """Raise `NotAllowed` for a folder that was or is being moved, whatever the settings."""
    prepare(path)
    with closing(connect(path / FILE)) as connection:
        marker = read_marker(connection)
    if marker is not None:
        raise folder_moved(marker, path)
