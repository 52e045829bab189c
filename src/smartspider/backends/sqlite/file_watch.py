"""Notice that a file in use was removed: SQLite goes on writing to it, and everything would be lost."""

from __future__ import annotations

import os
from pathlib import Path

from smartspider.core.errors import StoreUnavailable
from smartspider.interfaces.clock import Clock

CHECK_S = 0.1


class FileWatch:
    """Compares a file with the one that was opened, at most every 0.1 seconds."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._opened = _identity(path)
        self._next_at = 0.0

    def check(self) -> None:
        """Raise `StoreUnavailable` if the file was removed or replaced."""
        now = self._clock.monotonic()
        if now < self._next_at:
            return
        if _identity(self._path) != self._opened:
            raise StoreUnavailable(
                f"the data folder {self._path.parent} was removed or replaced while it was in use",
                hint="run the same command again to start over; leave the folder in place until it ends",
            )
        self._next_at = now + CHECK_S


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - called for every other transaction
    except OSError:
        return None
    return found.st_dev, found.st_ino
