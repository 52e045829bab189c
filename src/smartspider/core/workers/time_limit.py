"""End synchronous code of users after a time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import ClassVar, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class TookTooLong(BaseException):
    """Not an `Exception`, so that no handler on the way takes it for the error of a step."""


class TimeLimit:
    """Ends functions at a time limit: code in Python and regular expressions, which check for signals.

    Code in C does not: the supervisor kills its process a little later. Outside the main thread no signal
    arrives, so there is no limit. A process has one alarm, shared by all limits: only one runs at a time.
    """

    _is_running: ClassVar[bool] = False

    def __init__(self, longest_s: float) -> None:
        self.longest_s = longest_s
        self._can_end = threading.current_thread() is threading.main_thread()
        if self._can_end:
            signal.signal(signal.SIGALRM, TimeLimit._end)

    def run(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Return what a function returns; raise `TookTooLong` at the time limit."""
        if not self._can_end:
            return call(*args, **options)
        TimeLimit._is_running = True
        signal.setitimer(signal.ITIMER_REAL, self.longest_s)
        try:
            return call(*args, **options)
        finally:
            TimeLimit._is_running = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    @staticmethod
    def _end(_number: int, _frame: FrameType | None) -> None:
        if TimeLimit._is_running:
            raise TookTooLong
