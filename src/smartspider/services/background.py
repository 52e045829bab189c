"""Work that would hold up the event loop is done beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from smartspider.core.errors import TooMany

T = TypeVar("T")


class BackgroundThread:
    """A thread for pieces of work, done one after the other. Used in an `async with` block.

    Who is cancelled meanwhile still waits for the piece under way, so nothing is taken away from under it.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "aside")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._pool.shutdown(wait=False)

    async def do(self, work: Callable[..., T], *values: Any) -> T:
        """Do a piece of work in the thread."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, work, *values)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()
            raise


class ConcurrencyLimit:
    """Room for so many pieces of heavy work at a time in this process; more are refused for now."""

    def __init__(self, at_once: int) -> None:
        self.free = at_once
        self._at_once = at_once

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold one of the places."""
        if not self.free:
            raise TooMany(
                f"{self._at_once} exports and comparisons are under way, more would slow them all down",
                retry_after_s=5.0,
                hint="try again when one of them is done",
            )
        self.free -= 1
        try:
            yield
        finally:
            self.free += 1
