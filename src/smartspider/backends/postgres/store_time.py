"""Store time of a database: the server's clock plus a shift kept in the store, continued by this process's
monotonic clock.

The shift is 0 unless the server's clock is doubted (`core/clock_doubt.py`): then it makes up for the jump.
The leader decides (`store_clock.py`), and the others follow.
"""

from __future__ import annotations

import msgspec
import psycopg

from smartspider.core.clock_doubt import STEP_S
from smartspider.interfaces.clock import Clock
from smartspider.store import statements
from smartspider.store.clock import ClockRow
from smartspider.store.database import Row

SQL = statements.load("sql/store_time.sql", __package__)

TRIES = 3
FOLLOW_S = 5.0
"""Interval at which a process compares its time with the store's."""
GIVE_UP_S = 30.0
"""A process that differs from the store for so long follows it: its clock stood still, or nobody leads."""


class ServerTime(msgspec.Struct, frozen=True):
    """The server's clock, read at a moment of this process's monotonic clock."""

    monotonic: float
    wall: float
    row: ClockRow

    @property
    def shift(self) -> float:
        """By how much store time is ahead of the monotonic clock, as the store has it."""
        return self.wall + self.row.shift_s - self.monotonic


class StoreTime:
    """1. Within a process it goes back only with the store (rule 21). 2. Processes differ by less than a
    round trip to the server, and after a step for some seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._shift = clock.now() - clock.monotonic()
        self._steps = -1
        """The steps of store time that this process knows of; -1 before it asked the server."""
        self._next_at = clock.monotonic() + FOLLOW_S
        self._apart_since: float | None = None

    def now(self) -> float:
        """Return the seconds since 1970."""
        return self._clock.monotonic() + self._shift

    def clock_shift(self) -> float:
        """Return by how much the monotonic clock of this process is ahead."""
        return -self._shift

    def follow(self, connection: psycopg.Connection[Row]) -> None:
        """Read the server's clock several times; the fastest answer is the most exact."""
        best_s, best = float("inf"), None
        for _ in range(TRIES):
            asked_at = self._clock.monotonic()
            found = connection.execute(SQL.read.encode()).fetchone()
            took_s = self._clock.monotonic() - asked_at
            if found is not None and took_s < best_s:
                best_s, best = took_s, server_time(asked_at + took_s / 2, found)
        if best is not None:
            self.learn(best)

    def take_turn(self) -> bool:
        """Return whether it is time to compare, at most once for each interval."""
        now = self._clock.monotonic()
        if now < self._next_at:
            return False
        self._next_at = now + FOLLOW_S
        return True

    def learn(self, found: ServerTime) -> None:
        """Follow the store: always a step, and otherwise forward by a little."""
        self._next_at = self._clock.monotonic() + FOLLOW_S
        apart_s = found.shift - self._shift
        if found.row.steps != self._steps or 0.0 < apart_s <= STEP_S or self._has_waited(apart_s):
            self._shift, self._steps, self._apart_since = found.shift, found.row.steps, None

    def _has_waited(self, apart_s: float) -> bool:
        if abs(apart_s) <= STEP_S:
            self._apart_since = None
            return False
        now = self._clock.monotonic()
        if self._apart_since is None:
            self._apart_since = now
        return now - self._apart_since >= GIVE_UP_S


def server_time(monotonic: float, found: Row) -> ServerTime:
    """Return the answer to `SQL.read` as a value."""
    wall, *columns = found
    return ServerTime(monotonic, wall, ClockRow(*columns))
