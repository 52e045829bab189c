"""The clock of a database server, and whether store time follows it."""

from __future__ import annotations

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.store_time import SQL, ServerTime, server_time
from smartspider.core.clock_doubt import SAME_S, STEP_S, ClockDoubt, ClockStatus, ClockStep, judge_clock
from smartspider.core.tasks import SYSTEM
from smartspider.store import clock as clocks
from smartspider.store.database import Connection, one, row
from smartspider.store.nodes import leadership

SERVER = "server"


class PostgresStoreClock:
    """See `interfaces/store_clock.py`. Only the leader decides: a process may be behind because it was
    suspended, and there must be one opinion.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def status(self) -> ClockStatus:
        """Return both times, and the doubt."""
        found = await self._db.read(self._read)
        return ClockStatus(self._db.now(), found.wall, found.row.doubt)

    async def confirm(self, actor: str) -> ClockStatus:
        """Believe the server's clock."""

        def work(connection: Connection) -> ClockStatus:
            found = self._read(connection)
            ahead_s = found.wall - self._db.now()
            if found.row.doubt is not None:
                _step(connection, ClockStep(ahead_s), found, actor=actor)
            return ClockStatus(found.wall, found.wall, None)

        status = await self._db.without_timeout(work, is_writing=True)
        await self._db.follow_clock()
        return status

    async def follow(self, epoch: int) -> None:
        """Compare the server's clock with store time, and decide."""
        if self._decide(await self._db.read(self._read)) is None:
            return

        def work(connection: Connection) -> None:
            leadership.check(connection, epoch)
            found = self._read(connection)
            if one(connection, SQL.others, (self._db.now(),)) > self._db.now() + STEP_S:
                return  # this process was suspended: others are ahead of it
            match self._decide(found):
                case ClockStep() as step:
                    _step(connection, step, found)
                case ClockDoubt() as doubt:
                    _doubt(connection, doubt, self._db.now())

        await self._db.without_timeout(work, is_writing=True)
        await self._db.follow_clock()

    def _decide(self, found: ServerTime) -> ClockStep | ClockDoubt | None:
        """Return what must change in the store; None if nothing must."""
        now, known = self._db.now(), found.row
        decision = judge_clock(found.wall - now, now, known.doubt)
        match decision:
            case None:
                return ClockStep(0.0) if known.doubt is not None else None
            case ClockStep() if known.doubt is None:
                return None  # a small one, which every process follows by itself
            case ClockDoubt() if decision == known.doubt and abs(found.wall + known.shift_s - now) <= SAME_S:
                return None
        return decision

    def _read(self, connection: Connection) -> ServerTime:
        found = row(connection, SQL.read)
        assert found is not None  # noqa: S101 - the row is always there
        return server_time(self._db.clock.monotonic(), found)


def _doubt(connection: Connection, doubt: ClockDoubt, now: float) -> None:
    """Let store time go on as before, whatever the server's clock says."""
    connection.execute(clocks.SQL.set, (-doubt.ahead_s, SERVER, 0.0))
    connection.execute(clocks.SQL.count_step, (0,))
    clocks.write_doubt(connection, doubt, now)


def _step(connection: Connection, step: ClockStep, found: ServerTime, *, actor: str = SYSTEM) -> None:
    """Let store time be the server's time again."""
    connection.execute(clocks.SQL.set, (0.0, SERVER, 0.0))
    if step.ahead_s:
        connection.execute(SQL.move_retries, (step.ahead_s,))
        clocks.write_step(connection, step, found.wall, actor=actor)
    elif found.row.doubt is not None:
        connection.execute(clocks.SQL.count_step, (0,))
        clocks.write_agreement(connection, found.row.doubt, found.wall)
