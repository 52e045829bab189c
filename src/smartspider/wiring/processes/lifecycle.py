"""The event loop, exit code and graceful stop of a process."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from typing import Any, TypeVar

from smartspider.core.control_characters import escape_controls
from smartspider.core.errors import SmartSpiderError, StoreUnavailable
from smartspider.core.workers import activity
from smartspider.engine.runtime import die_with_parent
from smartspider.engine.supervisor import STORE_UNAVAILABLE
from smartspider.wiring.processes.sampling import share_inherited

T = TypeVar("T")


def run_process(main: Coroutine[Any, Any, None]) -> int:
    """Run the main coroutine of a process and return the exit code; print an error as one line."""
    try:
        run_loop(main)
    except SmartSpiderError as error:
        with suppress(OSError):  # standard error may be closed
            sys.stderr.write(f"{escape_controls(error.message)}\n")
        return STORE_UNAVAILABLE if isinstance(error, StoreUnavailable) else 1
    return 0


def become_child() -> None:
    """Begin the life of a process that a supervisor started: share its activity, and end with the parent."""
    die_with_parent()
    share_inherited()
    atexit.register(activity.finish)


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, on uvloop if it is installed. Cancellation from inside ends it like Ctrl-C."""
    # Close the coroutine in any case: an interrupt may arrive before it starts.
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


def stop_on_signals(stop: Callable[[], object], *, with_parent: bool) -> None:
    """Call `stop` on SIGTERM and SIGINT, and when standard input closes: the parent is gone."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    if not with_parent:
        return

    def on_input() -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            loop.remove_reader(sys.stdin.fileno())
            stop()

    loop.add_reader(sys.stdin.fileno(), on_input)
