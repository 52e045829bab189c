"""Log lines, kept within a budget and found again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from smartspider.core.logs import LogLine, StoredLine


class LogFilter(msgspec.Struct, frozen=True):
    """Which lines are wanted: those for which all that is given holds. `level` is the lowest."""

    task_id: int | None = None
    run_id: int | None = None
    level: int | None = None
    since: float | None = None
    until: float | None = None
    host: str | None = None
    error: str | None = None
    worker: str | None = None
    text: str | None = None
    """Words that all stand in the text or the URL."""


class LogPage(msgspec.Struct, frozen=True):
    """Lines, and where to go on; None: there are no more. A page may be short, even empty, and go on."""

    lines: list[StoredLine]
    next: int | None


class LogStore(Protocol):
    """1. Lines are numbered in the order they were written, by a number that only grows.
    2. A search looks at a bounded number of lines, whatever the filter and however many there are.
    3. Both directions: newest first going back by `before`, oldest first going on by `after`; neither skips
       nor repeats a line.
    4. Over the budget the oldest lines go, some more than needed, so that this is rare.
    5. Writing lines is one transaction; lines that cannot be written never disturb what they tell of.
    6. Lines of a run that is deleted are gone with it, also those that come late.
    7. A line of a run belongs to the task of that run. Moments are kept, those of lines that waited for more
       than minutes aside; they are then told as later than they were.
    """

    async def add(self, lines: Sequence[LogLine]) -> None:
        """Keep lines."""

    async def before(self, only: LogFilter, *, before: int | None = None, limit: int = 100) -> LogPage:
        """Lines, newest first, those with a smaller number than `before`."""

    async def after(self, only: LogFilter, *, after: int, limit: int = 100) -> LogPage:
        """Lines, oldest first, those with a greater number than `after`; `next` is where a tail goes on."""

    async def last_id(self) -> int:
        """The number of the newest line; 0 before the first."""

    async def trim(self, budget: int) -> int:
        """Forget the oldest lines beyond so many bytes; how many lines."""

    async def forget_before(self, moment: float) -> int:
        """Forget lines from before a moment, the oldest first; how many lines."""

    async def size(self) -> int:
        """Bytes of all lines."""
