"""A buffer that writes log lines to the store in batches."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from smartspider.core.errors import SmartSpiderError
from smartspider.core.logs import LEVELS, LogLine

EVERY_S = 1.0
BATCH = 500
ROOM = 5_000
"""Maximum buffered lines; beyond that the oldest, least important ones are dropped."""

Write = Callable[[Sequence[LogLine]], Awaitable[None]]


class LogBuffer:
    """Accepts lines from any thread. `flush` writes them; `keep_flushing` does so about once a second while
    there are any.
    """

    def __init__(self, write: Write, worker: str = "", *, room: int = ROOM, every_s: float = EVERY_S) -> None:
        self._every_s = every_s
        self._write = write
        self._worker = worker
        self._room = room
        self._lines: deque[LogLine] = deque()
        self._dropped = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._wake = asyncio.Event()
        self._full = asyncio.Event()
        self._is_awake = self._is_full = False

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: LogLine) -> None:
        """Buffer a line."""
        with self._lock:
            if len(self._lines) >= self._room:
                self._make_room()
            self._lines.append(line)
        if self._loop is None or self._loop.is_closed():
            return
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon_threadsafe(self._wake.set)
        if not self._is_full and len(self._lines) >= BATCH:
            self._is_full = True
            self._loop.call_soon_threadsafe(self._full.set)

    def _make_room(self) -> None:
        """Drop a tenth of the lines: the oldest below warning level, else the oldest."""
        lines = list(self._lines)
        quiet = [number for number, line in enumerate(lines) if line.level < LEVELS["warning"]]
        wanted = max(self._room // 10, 1)
        gone = set(quiet[:wanted] or range(wanted))
        self._lines = deque(line for number, line in enumerate(lines) if number not in gone)
        self._dropped += len(gone)

    async def keep_flushing(self) -> None:
        """Write lines until cancelled."""
        self._loop = asyncio.get_running_loop()
        self._is_awake = bool(self._lines)
        if self._is_awake:
            self._wake.set()
        while True:
            await self._wake.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):
                    await self._full.wait()
            self._wake.clear()
            self._full.clear()
            self._is_awake = self._is_full = False  # a line added from here on wakes this loop again
            await self.flush()
            if self._lines:  # the store was busy
                await asyncio.sleep(self._every_s)
                self._is_awake = True
                self._wake.set()

    async def flush(self) -> None:
        """Write all lines; those that the store does not accept stay buffered."""
        while self._lines:
            with self._lock:
                batch = [self._lines.popleft() for _ in range(min(BATCH, len(self._lines)))]
            dropped = self._dropped
            try:
                await self._write([*batch, *self._dropped_line(dropped)])
            except SmartSpiderError:
                with self._lock:
                    self._lines.extendleft(reversed(batch))
                return
            except asyncio.CancelledError:
                with self._lock:
                    self._lines.extendleft(reversed(batch))
                raise
            except Exception:  # noqa: BLE001 - logging must not disturb the process; the lines are counted
                self._dropped += len(batch)
                return
            self._dropped -= dropped

    def _dropped_line(self, count: int) -> list[LogLine]:
        if count == 0:
            return []
        text = f"{count} log lines were dropped: the store was too slow"
        return [
            LogLine(
                time.time(), LEVELS["warning"], "log.dropped", text, self._worker, fields={"count": count}
            )
        ]
