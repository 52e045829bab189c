"""A lock that the processes of a crawl share: it shows other crawls that at least one of them lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

JOIN_S = 1.0
"""Time to wait for a process that tests the lock; it holds it for a moment."""


class CrawlLock:
    """1. The kernel releases the lock when the last process of the crawl ends, however it ends.
    2. A file that its last process leaves is removed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def join(self) -> bool:
        """Take a share of the lock. Return whether no other process of the crawl has one; raise `OSError` if
        it cannot be taken.
        """
        give_up_at = time.monotonic() + JOIN_S
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            is_first = _lock(handle, fcntl.LOCK_EX)
            if _lock(handle, fcntl.LOCK_SH) and _is_file(handle, self._path):
                self._handle = handle
                return is_first
            os.close(handle)
            if time.monotonic() >= give_up_at:
                raise BlockingIOError(f"{self._path} is locked")
            time.sleep(0.001)

    def leave(self) -> bool:
        """Return the share. Return whether it was the last one, and the file is removed."""
        if self._handle is None:
            return False
        handle, self._handle = self._handle, None
        try:
            return _remove(handle, self._path)
        finally:
            os.close(handle)


def crawl_lives(path: Path, *, remove: bool = False) -> bool:
    """Return whether a process has a share of a lock; with `remove` the file of a dead crawl is removed."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not _lock(handle, fcntl.LOCK_EX):
            return True
        if remove:
            _remove(handle, path)
        return False
    finally:
        os.close(handle)


def _remove(handle: int, path: Path) -> bool:
    """Remove a file if nobody else has a share of its lock; who waits for it notices and makes a new one."""
    if not (_lock(handle, fcntl.LOCK_EX) and _is_file(handle, path)):
        return False
    with contextlib.suppress(OSError):
        path.unlink()
    return True


def _lock(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_file(handle: int, path: Path) -> bool:
    """Return whether an open file is the one at a path."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False
