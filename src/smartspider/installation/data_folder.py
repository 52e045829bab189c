"""Data folders: their locations, their locks, and markers of output that is not written yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smartspider.backends.sqlite.database import FILE
from smartspider.backends.sqlite.store import SqliteStore
from smartspider.backends.sqlite.worker_locks import FileLock, is_alive
from smartspider.core.errors import NotAllowed, NotFound, StoreUnavailable
from smartspider.installation.installation import Installation
from smartspider.installation.settings import read_settings

HOME = Path(".smartspider")
PENDING_OUTPUT = "output-pending"
SERVER_LOCK = "server.lock"


class DataFolder(Installation, frozen=True, kw_only=True):
    """An installation in a data folder: one SQLite file."""

    store: SqliteStore


@contextmanager
def task_lock(path: Path, name: str) -> Iterator[None]:
    """Let only one command at a time choose and crawl a run of a task."""
    with _acquire(path / "tasks" / f"{name}.lock", f"the task {name!r} in {path}"):
        yield


def run_lock_file(path: Path, run_id: int) -> Path:
    """Return the file that a command locks while it crawls a run."""
    return path / "runs" / f"{run_id}.lock"


@contextmanager
def run_lock(path: Path, run_id: int, *, is_last: bool = False) -> Iterator[None]:
    """Keep a run from being deleted while it is crawled; with `is_last` the lock file is
    removed on success.
    """
    with _acquire(run_lock_file(path, run_id), f"run {run_id} in {path}") as lock:
        yield
        if is_last:
            lock.release(remove=True)


def is_served(path: Path) -> bool:
    """Return whether a process serves a data folder. Creates nothing."""
    return is_alive(path / SERVER_LOCK)


@contextmanager
def serving(path: Path) -> Iterator[None]:
    """Mark a data folder as served by this process, unless another one serves it already."""
    lock = FileLock(path / SERVER_LOCK)
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _acquire(file: Path, what: str) -> Iterator[FileLock]:
    # The lock file stays: deleting it would let a third process lock a new file while a second holds the old
    # one.
    lock = FileLock(file)
    if not lock.acquire():
        raise NotAllowed(
            f"{what} is in use by another process",
            hint="wait for that process or stop it; use --workers to add workers",
        )
    try:
        yield lock
    finally:
        lock.release()


def runs_with_pending_output(path: Path) -> set[int]:
    """Return runs whose output files are not written yet."""
    markers = (path / "runs").glob(f"*.{PENDING_OUTPUT}")
    return {int(marker.stem) for marker in markers if marker.stem.isdigit()}


def pending_output_marker(path: Path, run_id: int) -> Path:
    """Return the file that marks a run with pending output."""
    return path / "runs" / f"{run_id}.{PENDING_OUTPUT}"


@contextmanager
def pending_output(path: Path, run_id: int) -> Iterator[None]:
    """Mark the output of a run as pending until the block succeeds; a kill or a full disk
    leaves the marker.
    """
    marker = pending_output_marker(path, run_id)
    try:
        marker.touch()
    except OSError as error:
        raise StoreUnavailable(
            f"{marker} cannot be written: {error.strerror or error}", hint="check the data folder"
        ) from error
    yield
    marker.unlink(missing_ok=True)


def folder_of(data: Path | None, task_name: str) -> Path:
    """Return the folder to crawl a task in: the one given, the one of the settings, or the task's own."""
    return data or read_settings().data_folder or HOME / task_name


def find_folder(data: Path | None) -> Path:
    """Return the folder a command reads: the one given, the one of the settings, or the last one used."""
    data = data or read_settings().data_folder
    if data is not None:
        if not (data / FILE).exists():
            raise NotFound(
                f"there is no data folder {data}", hint="check the path; `smartspider crawl TASK` creates one"
            )
        return data
    found = sorted(HOME.glob(f"*/{FILE}"), key=_used_at)
    if not found:
        raise NotFound(
            "there is no data folder here",
            hint="`smartspider crawl TASK` creates one; name one that is elsewhere with --data DIR",
        )
    return found[-1].parent


def all_folders(data: Path | None) -> list[Path]:
    """Return all data folders below the current folder, or only the one given or set."""
    if data is not None or read_settings().data_folder is not None:
        return [find_folder(data)]
    return folders_below()


def folders_below() -> list[Path]:
    """Return all data folders below the current folder."""
    return sorted(file.parent for file in HOME.glob(f"*/{FILE}"))


def _used_at(file: Path) -> float:
    """Return the time of the last write; recent writes are in the write-ahead log."""
    log = file.with_name(f"{FILE}-wal")
    return max(path.stat().st_mtime for path in (file, log) if path.exists())
