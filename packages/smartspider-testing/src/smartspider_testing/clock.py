"""A clock that only moves when a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

_SETTLE_PASSES = 25
"""Turns of the event loop given to those who were woken, before time moves on."""


class ManualClock:
    """A `Clock` whose time stands still until `advance`; sleepers wake in the order of their moments."""

    def __init__(self, now: float = 1_700_000_000.0, monotonic: float = 1_000.0) -> None:
        self._now = now
        self._monotonic = monotonic
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._lay_down = asyncio.Event()

    def now(self) -> float:
        """Seconds since 1970, as set by hand."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back, whatever happens to `now`."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Come back once the clock has been advanced so far; at once for nothing or less."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic + seconds, next(self._order), woken))
        self._lay_down.set()
        await woken

    @property
    def sleepers(self) -> int:
        """How many are asleep now."""
        self._drop_cancelled()
        return len(self._sleepers)

    @property
    def next_wake_s(self) -> float | None:
        """Seconds until the first sleeper is due, or None when nobody sleeps."""
        self._drop_cancelled()
        return self._sleepers[0][0] - self._monotonic if self._sleepers else None

    async def advance(self, seconds: float) -> None:
        """Move time forward, waking each sleeper at its own moment and letting it go on before the next.

        A sleeper that lies down again within the span is woken again.
        """
        if seconds < 0:
            raise ValueError("time only goes forward; wind the wall clock with `wind`")
        await _let_others_run()
        target = self._monotonic + seconds
        while True:
            self._drop_cancelled()
            if not self._sleepers or self._sleepers[0][0] > target:
                break
            wake_at, _, woken = heapq.heappop(self._sleepers)
            self._move_to(max(wake_at, self._monotonic))
            woken.set_result(None)
            await _let_others_run()
        self._move_to(max(target, self._monotonic))
        await _let_others_run()

    def wind(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an administrator would; `monotonic` does not notice."""
        self._now += seconds

    async def until_asleep(self, sleepers: int = 1) -> None:
        """Wait until at least so many are asleep."""
        while self.sleepers < sleepers:
            self._lay_down.clear()
            await self._lay_down.wait()

    def _move_to(self, monotonic: float) -> None:
        self._now += monotonic - self._monotonic
        self._monotonic = monotonic

    def _drop_cancelled(self) -> None:
        awake = [sleeper for sleeper in self._sleepers if not sleeper[2].done()]
        if len(awake) != len(self._sleepers):
            heapq.heapify(awake)
            self._sleepers = awake


async def _let_others_run() -> None:
    for _ in range(_SETTLE_PASSES):
        await asyncio.sleep(0)
