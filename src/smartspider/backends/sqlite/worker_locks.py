"""The lock files of workers: each worker locks a file of its own, and the kernel releases it when it dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.core.errors import StoreUnavailable
from smartspider.store.nodes.workers import SqlWorkerRegistry

WORKERS = "workers"
ASKERS_S = 0.002
"""A process that only tests a lock holds it for a moment; a second attempt tells them apart."""


class FileLock:
    """An exclusive lock on a file, held until it is released or the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock. Return False if another living process holds it."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnavailable(
                f"{self.path} cannot be written: {error.strerror or error}",
                hint="check the data folder's permissions and free space",
            ) from error
        for wait_s in (ASKERS_S, 4 * ASKERS_S, 0.0):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(wait_s)
            else:
                self._handle = handle
                return True
        os.close(handle)
        return False

    def release(self, *, remove: bool = False) -> None:
        """Release the lock; with `remove` the file is deleted."""
        if self._handle is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = None


def worker_lock(folder: Path, worker_id: int) -> Path:
    """Return the lock file of a worker."""
    return folder / WORKERS / f"{worker_id}.lock"


def is_alive(path: Path) -> bool:
    """Return whether a process holds the lock on a file. Creates no file and blocks no other test."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be read: {error.strerror or error}", hint="check the data folder's permissions"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def sqlite_workers(database: SqliteDatabase) -> SqlWorkerRegistry:
    """Return the registry of a data folder's workers, which are alive while they hold their locks."""
    return SqlWorkerRegistry(
        database, lambda worker_id, _seen_at: is_alive(worker_lock(database.folder, worker_id))
    )
