"""A time limit for reading a page: a regular expression of a task may backtrack without end."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import ClassVar

from smartspider.core.errors import NotReadable
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request
from smartspider.engine.processor import Reader
from smartspider.engine.retry_or_close import Reading

LONGEST_S = 20.0
"""Well below the duration of a lease, which is not renewed meanwhile."""


class _TookTooLong(BaseException):
    """Not an `Exception`, so that no handler on the way takes it for the error of a step."""


class ReadTimeout:
    """A reader with a time limit.

    Regular expressions, the only part that can run without end, check for signals while they search.
    Outside the main thread no signal arrives, so there is no limit. A process has one alarm, shared by all
    readers: only one reads at a time.
    """

    _is_reading: ClassVar[bool] = False

    def __init__(self, reader: Reader, longest_s: float = LONGEST_S) -> None:
        self._reader = reader
        self._longest_s = longest_s
        self._can_end = threading.current_thread() is threading.main_thread()
        if self._can_end:
            signal.signal(signal.SIGALRM, ReadTimeout._end)

    def read(self, page: Page, request: Request) -> Reading:
        """Read an answer; raise `NotReadable` at the time limit."""
        if not self._can_end:
            return self._reader.read(page, request)
        try:
            ReadTimeout._is_reading = True
            signal.setitimer(signal.ITIMER_REAL, self._longest_s)
            try:
                return self._reader.read(page, request)
            finally:
                ReadTimeout._is_reading = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except _TookTooLong:
            what = (
                f"reading took more than {self._longest_s:g} s: a regular expression may backtrack too much"
            )
            raise NotReadable(what) from None

    @staticmethod
    def _end(_number: int, _frame: FrameType | None) -> None:
        if ReadTimeout._is_reading:
            raise _TookTooLong
