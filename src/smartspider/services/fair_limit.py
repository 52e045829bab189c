"""Limits of concurrent work in a process, shared fairly among users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import msgspec

from smartspider.core.errors import TooMany
from smartspider.core.limits.shares import Shares


class SlotLimits(msgspec.Struct, frozen=True):
    """The amount of one kind of work that is done at a time, by all users together."""

    total: int
    reserve: int = 0
    """Further slots, only for users who hold none."""
    waiting: int = 0
    """Calls that may wait for a slot; as many again for users who have none waiting."""
    retry_after_s: float = 5.0


class FairLimit:
    """A limit of concurrent work; `TooMany` is raised above it. `core/limits/shares.py` says who gets a slot.

    `kind` labels its metrics, `noun` is what messages call the work.
    """

    def __init__(self, kind: str, limits: SlotLimits, noun: str = "") -> None:
        self.kind, self.limits = kind, limits
        self.refused = 0
        """The number of calls that were refused."""
        self._noun = noun or kind
        self._slots = Shares(limits.total, limits.reserve)
        self._waiting = Shares(limits.waiting, limits.waiting)
        self._queue: list[tuple[str, asyncio.Future[None]]] = []

    @property
    def in_use(self) -> int:
        """The number of slots in use."""
        return self._slots.in_use

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a slot."""
        return self._waiting.in_use

    def check_room(self, holder: str) -> None:
        """Raise `TooMany` if a user gets no slot now."""
        if not self._slots.has_room(holder):
            raise self._too_many(self._slots, holder)

    @contextmanager
    def acquire(self, holder: str) -> Iterator[None]:
        """Hold a slot during the block; raise `TooMany` if there is none."""
        self.check_room(holder)
        self._slots.take(holder)
        try:
            yield
        finally:
            self._release(holder)

    @asynccontextmanager
    async def turn(self, holder: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it during the block; raise `TooMany` if too many wait already."""
        await self._wait(holder)
        try:
            yield
        finally:
            self._release(holder)

    async def _wait(self, holder: str) -> None:
        granted = asyncio.get_running_loop().create_future()
        self._queue.append((holder, granted))
        self._grant()
        if granted.done():
            return
        if not self._waiting.has_room(holder):
            self._queue.remove((holder, granted))
            raise self._too_many(self._waiting, holder)
        self._waiting.take(holder)
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # granted and cancelled at the same time
                self._release(holder)
            raise
        finally:
            self._waiting.give_back(holder)

    def _release(self, holder: str) -> None:
        self._slots.give_back(holder)
        self._grant()

    def _grant(self) -> None:
        """Give free slots to those who wait."""
        self._queue = [one for one in self._queue if not one[1].cancelled()]
        while self._queue and (place := self._slots.next_of([one for one, _ in self._queue])) is not None:
            holder, granted = self._queue.pop(place)
            self._slots.take(holder)
            granted.set_result(None)

    def _too_many(self, shares: Shares, holder: str) -> TooMany:
        self.refused += 1
        state = "waiting" if shares is self._waiting else "running"
        held = shares.held_by(holder)
        if held:
            message = (
                f"{holder} has {held} {self._noun} {state}, the most that one user may have now "
                f"({shares.total} for all users)"
            )
            hint = "try again when one of them has ended"
        else:
            message = f"{shares.in_use} {self._noun} are {state}, the most that the server allows"
            hint = "try again later"
        return TooMany(message, retry_after_s=self.limits.retry_after_s, hint=hint)
