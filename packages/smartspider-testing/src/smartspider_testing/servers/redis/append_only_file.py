"""Records the growth of a Redis append-only file, so that its most recent part can be cut off."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from pathlib import Path

from smartspider_testing.waiting import join

LOOK_S = 0.02
KEPT = int(120 / LOOK_S)


class AppendOnlyFile:
    """Records the size of the file while the server runs, and truncates it while it is down."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: deque[tuple[float, Path, int]] = deque(maxlen=KEPT)
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None

    def watch(self) -> None:
        """Start recording."""
        self._ended.clear()
        self._watcher = threading.Thread(target=self._look_on, name="append-only file", daemon=True)
        self._watcher.start()

    def leave(self) -> None:
        """Stop recording; `cut` counts back from the last record."""
        if self._watcher is not None:
            self._ended.set()
            join(self._watcher)
            self._watcher = None
            self._look()

    def _look_on(self) -> None:
        while not self._ended.wait(LOOK_S):
            self._look()

    def _look(self) -> None:
        path = self._youngest()
        if path is not None:
            self._sizes.append((time.monotonic(), path, path.stat().st_size))

    def _youngest(self) -> Path | None:
        found = self._folder.glob("*.incr.aof")
        return max(found, key=lambda path: int(path.name.split(".")[-3]), default=None)

    def cut(self, seconds: float) -> int:
        """Drop the bytes of the last `seconds` before the end. Return their number."""
        path = self._youngest()
        if path is None or not self._sizes:
            return 0
        moment = self._sizes[-1][0] - seconds
        older = [size for at, looked_at, size in self._sizes if at <= moment and looked_at == path]
        kept = older[-1] if older else 0
        dropped = path.stat().st_size - kept
        os.truncate(path, kept)
        self._sizes.append((time.monotonic(), path, kept))
        return dropped
