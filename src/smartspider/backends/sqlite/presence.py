"""Who is alive: each worker holds a lock on a file of its own, and the kernel lets go when it dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from smartspider.core.errors import StoreUnavailable


class FileLock:
    """An exclusive lock on a file, held until released or until the process is gone, however it went."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False when another living process holds it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreUnavailable(
                f"{self.path} cannot be written: {error.strerror or error}",
                hint="check the data folder's permissions and free space",
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def release(self, *, remove: bool = False) -> None:
        """Let go; with `remove` the file goes too."""
        if self._handle is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = None


def is_alive(path: Path) -> bool:
    """Whether a process holds the lock on a file."""
    lock = FileLock(path)
    if not path.exists():
        return False
    if lock.acquire():
        lock.release()
        return False
    return True
