"""Waiting for moments that others wait for as well, so that what is due at the same time is done together."""

from __future__ import annotations

import asyncio

from smartspider.interfaces.clock import Clock

SHORTEST = 0.25
"""The part of its time after which something may be done again at the earliest."""


class AlignedTimer:
    """Whoever waits for a multiple of the same time goes on in the same moment.

    Each time a process wakes up costs about as much as what it then looks at; and what is asked in the same
    moment is asked in one trip.
    """

    def __init__(self, clock: Clock, group: asyncio.TaskGroup) -> None:
        self._clock = clock
        self._group = group
        self._pending: dict[float, asyncio.Task[None]] = {}

    @property
    def pending(self) -> list[asyncio.Task[None]]:
        """What is waited for now."""
        return list(self._pending.values())

    async def wait(self, every_s: float) -> None:
        """Wait for the next multiple of that many seconds, for a quarter of it at least."""
        now = self._clock.monotonic()
        moment = (now // every_s + 1.0) * every_s
        if moment - now < every_s * SHORTEST:
            moment += every_s
        if moment not in self._pending:
            self._pending[moment] = self._group.create_task(self._sleep_until(moment))
        await asyncio.shield(self._pending[moment])

    async def _sleep_until(self, moment: float) -> None:
        try:
            await self._clock.sleep(moment - self._clock.monotonic())
        finally:
            del self._pending[moment]
