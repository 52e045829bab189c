"""The clock of the machine of a data folder, and whether store time follows it."""

from __future__ import annotations

from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.backends.sqlite.store_time import take_step
from smartspider.core.clock_doubt import ClockDoubt, ClockStatus, ClockStep, judge_clock
from smartspider.store import clock as clocks
from smartspider.store.database import Connection


class SqliteStoreClock:
    """See `interfaces/store_clock.py`. Every write compares both, so the leader has nothing to do."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def status(self) -> ClockStatus:
        """Return both times, and the doubt; it may be too new to be stored."""
        known = await self._db.read(clocks.read)
        now, wall = self._db.now(), self._db.clock.now()
        slept_s = self._db.clock.slept() - known.slept_s
        decision = judge_clock(wall - now, now, known.doubt, slept_s=slept_s)
        return ClockStatus(now, wall, decision if isinstance(decision, ClockDoubt) else None)

    async def confirm(self, actor: str) -> ClockStatus:
        """Believe the clock of the machine."""

        def work(connection: Connection) -> None:
            known, clock = clocks.read(connection), self._db.clock
            if known.doubt is not None:
                ahead_s = clock.now() - clock.monotonic() - known.shift_s
                take_step(connection, clock, ClockStep(ahead_s), known.shift_s, actor=actor)

        await self._db.write(work)
        await self._db.write(lambda _connection: None)  # learns the step
        return await self.status()

    async def follow(self, epoch: int) -> None:
        """Do nothing."""
