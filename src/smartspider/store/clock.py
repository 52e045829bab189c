"""Store time and the wall clock it follows. All functions run inside a transaction."""

from __future__ import annotations

import msgspec

from smartspider.core.clock_doubt import ClockDoubt, ClockStep
from smartspider.core.tasks import SYSTEM
from smartspider.store import audit, statements
from smartspider.store.database import Connection, row

SQL = statements.load("clock.sql", __package__)

SUBJECT = "clock"


class ClockRow(msgspec.Struct, frozen=True):
    """The row from which store time is computed, in the order of the statement."""

    shift_s: float
    """By how much store time is ahead of the clock that it is computed from: the monotonic clock of the
    machine, or the clock of the database server.
    """
    boot: str
    """The start of the machine for which the shift holds."""
    slept_s: float
    """The time that the machine had slept when store time followed the wall clock last."""
    ahead_s: float | None
    since: float | None
    steps: int
    """Counts decisions: to follow a clock that had jumped, or to doubt one."""
    returns: int
    """Counts steps back."""

    @property
    def doubt(self) -> ClockDoubt | None:
        """The wall clock that is not believed."""
        return None if self.ahead_s is None or self.since is None else ClockDoubt(self.ahead_s, self.since)


def read(connection: Connection) -> ClockRow:
    """Return how store time is computed."""
    found = row(connection, SQL.read)
    assert found is not None  # noqa: S101 - a store has the row from its first moment on
    return ClockRow(*found)


def write_doubt(connection: Connection, doubt: ClockDoubt, now: float) -> None:
    """Remember a wall clock that is not believed."""
    connection.execute(SQL.doubt, (doubt.ahead_s, doubt.since))
    if doubt.is_notable:
        audit.write(connection, now, SYSTEM, "clock.doubted", SUBJECT, ahead_s=round(doubt.ahead_s, 3))


def write_agreement(connection: Connection, doubt: ClockDoubt, now: float) -> None:
    """Forget a doubt: the wall clock agrees with store time again."""
    connection.execute(SQL.agree)
    if doubt.is_notable:
        audit.write(connection, now, SYSTEM, "clock.agreed", SUBJECT, was_ahead_s=round(doubt.ahead_s, 3))


def write_step(connection: Connection, step: ClockStep, now: float, *, actor: str = SYSTEM) -> None:
    """Record a step of store time to `now`. All that waits moves along: no gap between two requests becomes
    shorter, and no living worker loses a lease.
    """
    for move in (SQL.move_hosts, SQL.move_runs, SQL.move_notifications, SQL.move_workers):
        connection.execute(move, (step.ahead_s,))
    connection.execute(SQL.end_term)
    connection.execute(SQL.count_step, (int(step.ahead_s < 0),))
    if ClockDoubt(step.ahead_s, now).is_notable:
        audit.write(connection, now, actor, "clock.followed", SUBJECT, ahead_s=round(step.ahead_s, 3))
