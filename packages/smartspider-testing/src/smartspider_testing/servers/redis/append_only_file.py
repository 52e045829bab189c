"""The append-only file of a Redis server, remembered in time so that its youngest part can be lost."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from pathlib import Path

LOOK_S = 0.02
KEPT = int(120 / LOOK_S)


class AppendOnlyFile:
    """Looks at the size of the file while the server runs, and cuts it while it does not."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: deque[tuple[float, Path, int]] = deque(maxlen=KEPT)
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None

    def watch(self) -> None:
        """Begin to look."""
        self._ended.clear()
        self._watcher = threading.Thread(target=self._look_on, name="append-only file", daemon=True)
        self._watcher.start()

    def leave(self) -> None:
        """Stop looking; the last look is what `cut` counts back from."""
        if self._watcher is not None:
            self._ended.set()
            self._watcher.join()
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
        """Drop what came in the last so many seconds before the end; how many bytes that was."""
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
