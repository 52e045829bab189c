"""A clock that only moves when a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

_SETTLE_PASSES = 25
"""Event loop passes for woken tasks before time advances further."""


class ManualClock:
    """A `Clock` that stands still until `advance`; sleepers wake in order of their wake times."""

    def __init__(
        self, now: float = 1_700_000_000.0, monotonic: float = 1_000.0, *, boot: str = "first"
    ) -> None:
        self._now = now
        self._monotonic = monotonic
        self._boot, self._slept = boot, 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._lay_down = asyncio.Event()

    def now(self) -> float:
        """Return the wall-clock time in seconds since 1970."""
        return self._now

    def monotonic(self) -> float:
        """Return monotonic seconds; `wind` does not change them."""
        return self._monotonic

    def slept(self) -> float:
        """Return for how many seconds the machine was suspended."""
        return self._slept

    def boot(self) -> str:
        """Return the id of this start of the machine."""
        return self._boot

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has advanced by `seconds`; return at once for zero or less."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic + seconds, next(self._order), woken))
        self._lay_down.set()
        await woken

    @property
    def sleepers(self) -> int:
        """The number of sleeping tasks."""
        self._drop_cancelled()
        return len(self._sleepers)

    @property
    def next_wake_s(self) -> float | None:
        """Return the seconds until the next sleeper wakes, or None if there is none."""
        self._drop_cancelled()
        return self._sleepers[0][0] - self._monotonic if self._sleepers else None

    async def advance(self, seconds: float) -> None:
        """Advance time. Wake each sleeper at its own time and let it run before the next one.

        A sleeper that sleeps again within the span wakes again.
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
        """Set the wall clock forward or back, as an administrator would; `monotonic` is unaffected."""
        self._now += seconds

    def suspend(self, seconds: float) -> None:
        """Let the machine sleep: the wall clock goes on, and `monotonic` does not."""
        self._now += seconds
        self._slept += seconds

    async def until_asleep(self, sleepers: int = 1) -> None:
        """Wait until at least `sleepers` tasks are asleep."""
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
