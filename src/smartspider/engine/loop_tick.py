"""Show the supervisor that the event loop of this process runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from smartspider.core.workers import activity

TICK_S = 0.5


@contextmanager
def ticking(worker_id: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Record twice a second during the block that the event loop runs, and the id of its worker."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def tick() -> None:
        nonlocal timer
        activity.tick(worker_id())
        timer = loop.call_later(TICK_S, tick)

    tick()
    try:
        yield
    finally:
        timer.cancel()
        activity.rest()
