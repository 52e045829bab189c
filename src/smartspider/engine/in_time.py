"""Reading that ends: an expression of a task may take for ever on a page that nobody thought of."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import ClassVar

from smartspider.core.errors import NotReadable
from smartspider.core.page import Page
from smartspider.core.request import Request
from smartspider.engine.links import Found
from smartspider.engine.processor import Reads
from smartspider.engine.verdicts import Reading

LONGEST_S = 20.0
"""Well below the time of a lease, which nobody renews meanwhile."""


class _TookTooLong(BaseException):
    """Not an `Exception`, so that nobody on the way takes it for a mistake of one step."""


class InTime:
    """Another reader, cut off after a while. Regular expressions, the only part that can take for ever, look
    for signals while they search. Outside the main thread, where no signal arrives, nothing is cut off.
    A process has one alarm, so all readers of a process share it: only one reads at a time.
    """

    _is_reading: ClassVar[bool] = False

    def __init__(self, reader: Reads, longest_s: float = LONGEST_S) -> None:
        self._reader = reader
        self._longest_s = longest_s
        self._can_end = threading.current_thread() is threading.main_thread()
        if self._can_end:
            signal.signal(signal.SIGALRM, InTime._end)

    def read(self, page: Page, request: Request) -> tuple[Reading, Found | None]:
        """What a page holds; raises `NotReadable` when that takes too long."""
        if not self._can_end:
            return self._reader.read(page, request)
        try:
            InTime._is_reading = True
            signal.setitimer(signal.ITIMER_REAL, self._longest_s)
            try:
                return self._reader.read(page, request)
            finally:
                InTime._is_reading = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except _TookTooLong:
            what = (
                f"reading took more than {self._longest_s:g} s: does a regular expression try too many ways?"
            )
            raise NotReadable(what) from None

    @staticmethod
    def _end(_number: int, _frame: FrameType | None) -> None:
        if InTime._is_reading:
            raise _TookTooLong
