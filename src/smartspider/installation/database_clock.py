"""The clock of an installation: its store's time."""

from __future__ import annotations

from smartspider.interfaces.clock import Clock
from smartspider.store.database import Database


class DatabaseClock:
    """See `interfaces/clock.py`. `now` is store time: everything is dated, due and expired by the same clock,
    and a wall clock that jumps changes nothing.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def now(self) -> float:
        """Return store time."""
        return self._database.now()

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await self._clock.sleep(seconds)
