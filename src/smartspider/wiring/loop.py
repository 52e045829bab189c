"""The event loop that commands and processes run on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from typing import Any, TypeVar

from smartspider.core.errors import SmartSpiderError, StoreUnavailable
from smartspider.engine.supervisor import STORE_UNAVAILABLE

T = TypeVar("T")


def run_process(main: Coroutine[Any, Any, None]) -> int:
    """All of a process that somebody started: its exit code. What went wrong is said in one line."""
    try:
        run_loop(main)
    except SmartSpiderError as error:
        with suppress(OSError):  # nobody may be there to read it
            sys.stderr.write(f"{error.message}\n")
        return STORE_UNAVAILABLE if isinstance(error, StoreUnavailable) else 1
    return 0


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end, on uvloop where there is one. Cancelled from inside, it ends as by Ctrl-C."""
    # Closed in any case: an interrupt may come before the work has begun.
    with closing(main), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        try:
            return runner.run(main)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
