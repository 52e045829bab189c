"""Cancellation that libraries cannot swallow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def propagate_cancellation() -> Iterator[None]:
    """Raise `CancelledError` on exit if the task was cancelled inside, even if the call returned or raised
    otherwise.

    Before Python 3.12 `asyncio.wait_for` loses a cancellation that arrives when its awaitable has just
    finished; the Redis client sends through it.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        yield
    finally:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError
