"""Being cancelled for certain, whatever a library makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cancellable() -> Iterator[None]:
    """Who is cancelled within is cancelled, also where what is called returns or raises something else.

    `asyncio.wait_for` does that before Python 3.12 when what it waits for was done just then; the client of
    Redis sends by it.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        yield
    finally:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError
