"""The event loop a crawl runs on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any, TypeVar

T = TypeVar("T")


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
