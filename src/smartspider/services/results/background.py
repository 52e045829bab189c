"""Run blocking work outside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

T = TypeVar("T")


class BackgroundThread:
    """A thread that runs calls one after another. Use it in an `async with` block.

    A cancelled caller still waits for the call in progress, so that its resources stay valid.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "background")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._pool.shutdown(wait=False)

    async def run(self, work: Callable[..., T], *values: Any) -> T:
        """Run a function in the thread."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, work, *values)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()
            raise
