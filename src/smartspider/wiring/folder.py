"""A data folder, opened: store, frontier and ledger on one SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smartspider.backends.sql.answers import SqlAnswerStore
from smartspider.backends.sql.audit import SqlAuditLog
from smartspider.backends.sql.events import SqlEventFeed
from smartspider.backends.sql.host_book import SqlHostBook
from smartspider.backends.sql.insight import SqlInsight
from smartspider.backends.sql.leadership import SqlLeadership
from smartspider.backends.sql.logs import SqlLogStore
from smartspider.backends.sql.metrics import SqlMetricStore
from smartspider.backends.sql.notices import SqlNoticeStore
from smartspider.backends.sql.results import SqlResultStore
from smartspider.backends.sql.scaling import SqlScalingStore
from smartspider.backends.sql.schedules import SqlScheduleStore
from smartspider.backends.sql.seen import SqlSeenRows
from smartspider.backends.sql.tasks import SqlTaskStore
from smartspider.backends.sql.users import SqlUserStore
from smartspider.backends.sqlite.database import FILE, Database
from smartspider.backends.sqlite.demand import SqliteDemand
from smartspider.backends.sqlite.frontier import SqliteFrontier
from smartspider.backends.sqlite.health import SqliteHealth
from smartspider.backends.sqlite.ledger import SqliteLedger
from smartspider.backends.sqlite.migrations import prepare
from smartspider.backends.sqlite.permits import SqlitePermits
from smartspider.backends.sqlite.presence import FileLock
from smartspider.backends.sqlite.replay import SqliteReplay
from smartspider.backends.sqlite.store import SqliteStore
from smartspider.backends.sqlite.workers import sqlite_workers
from smartspider.core.errors import NotAllowed, NotFound, StoreUnavailable
from smartspider.core.tasks import SYSTEM
from smartspider.engine.clock import SystemClock
from smartspider.wiring.premises import Premises
from smartspider.wiring.settings import read_settings

HOME = Path(".smartspider")
OWES = "owes-rows"


class DataFolder(Premises, frozen=True, kw_only=True):
    """A data folder: what only a file has comes with it."""

    store: SqliteStore


@contextmanager
def open_folder(path: Path, actor: str = SYSTEM) -> Iterator[DataFolder]:
    """A data folder, made or migrated when it must be, closed at the end. `actor` is who works in it."""
    clock = SystemClock()
    prepare(path)
    database = Database(path, clock)
    try:
        yield DataFolder(
            path=path,
            store=SqliteStore(database),
            frontier=SqliteFrontier(database),
            ledger=SqliteLedger(database),
            tasks=SqlTaskStore(database),
            results=SqlResultStore(database),
            audit=SqlAuditLog(database),
            workers=sqlite_workers(database),
            hosts=SqlHostBook(database),
            events=SqlEventFeed(database),
            logs=SqlLogStore(database),
            metrics=SqlMetricStore(database),
            users=SqlUserStore(database),
            answers=SqlAnswerStore(database),
            check_writable=SqliteHealth(database).check_writable,
            check_room=SqliteHealth(database).check_room,
            permits=SqlitePermits(database),
            insight=SqlInsight(database),
            schedules=SqlScheduleStore(database),
            leadership=SqlLeadership(database),
            notices=SqlNoticeStore(database),
            scaling=SqlScalingStore(database),
            demand=SqliteDemand(database),
            seen_rows=SqlSeenRows(database),
            replay=SqliteReplay(database),
            clock=clock,
            actor=actor,
        )
    finally:
        database.close()


@contextmanager
def task_lock(path: Path, name: str) -> Iterator[None]:
    """Only one command at a time chooses and crawls a run of a task."""
    with _locked(path / "tasks" / f"{name}.lock", f"the task {name!r} in {path}"):
        yield


def run_lock_file(path: Path, run_id: int) -> Path:
    """What is locked while somebody has a run to himself."""
    return path / "runs" / f"{run_id}.lock"


@contextmanager
def run_lock(path: Path, run_id: int, *, is_last: bool = False) -> Iterator[None]:
    """Nobody deletes a run while it is crawled. The last lock on a run goes with it when all ends well."""
    with _locked(run_lock_file(path, run_id), f"run {run_id} in {path}") as lock:
        yield
        if is_last:
            lock.release(remove=True)


@contextmanager
def _locked(file: Path, what: str) -> Iterator[FileLock]:
    # The file stays: removing it would let a third process lock a new one while a second holds the old.
    lock = FileLock(file)
    if not lock.acquire():
        raise NotAllowed(
            f"{what} is being crawled by another process",
            hint="wait for it or stop it; more workers come with --workers",
        )
    try:
        yield lock
    finally:
        lock.release()


def owing_runs(path: Path) -> set[int]:
    """Runs whose rows somebody asked for and that have not been written yet."""
    return {int(mark.stem) for mark in (path / "runs").glob(f"*.{OWES}") if mark.stem.isdigit()}


def owing_mark(path: Path, run_id: int) -> Path:
    """The file that says so."""
    return path / "runs" / f"{run_id}.{OWES}"


@contextmanager
def owing(path: Path, run_id: int) -> Iterator[None]:
    """A run owes its rows until this block ends well; a kill or a full disk leaves the mark."""
    mark = owing_mark(path, run_id)
    try:
        mark.touch()
    except OSError as error:
        raise StoreUnavailable(
            f"{mark} cannot be written: {error.strerror or error}", hint="check the data folder"
        ) from error
    yield
    mark.unlink(missing_ok=True)


def folder_of(data: Path | None, task_name: str) -> Path:
    """Where a task is crawled: the folder given, that of the settings, or one of the task's own."""
    return data or read_settings().data_folder or HOME / task_name


def find_folder(data: Path | None) -> Path:
    """The data folder a command looks into: the one given, that of the settings, or the one used last."""
    data = data or read_settings().data_folder
    if data is not None:
        if not (data / FILE).exists():
            raise NotFound(
                f"there is no data folder {data}", hint="check the path; `smartspider crawl TASK` makes one"
            )
        return data
    found = sorted(HOME.glob(f"*/{FILE}"), key=_used_at)
    if not found:
        raise NotFound("there is no data folder here", hint="name one with --data DIR")
    return found[-1].parent


def folder_with(data: Path | None, task_name: str) -> Path:
    """The data folder to look for a task in: as `find_folder`, but the task's own one first."""
    own = HOME / task_name
    if data is None and read_settings().data_folder is None and (own / FILE).exists():
        return own
    return find_folder(data)


def all_folders(data: Path | None) -> list[Path]:
    """Every data folder there is to look into, or only the one given or set."""
    if data is not None or read_settings().data_folder is not None:
        return [find_folder(data)]
    return sorted(file.parent for file in HOME.glob(f"*/{FILE}"))


def _used_at(file: Path) -> float:
    """When a database was last written to; recent writes are in its log."""
    log = file.with_name(f"{FILE}-wal")
    return max(path.stat().st_mtime for path in (file, log) if path.exists())
