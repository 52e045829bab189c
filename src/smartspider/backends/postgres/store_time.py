"""Store time: the server's clock, continued by this process's monotonic clock."""

from __future__ import annotations

import psycopg

from smartspider.interfaces.clock import Clock
from smartspider.store.database import Row

TRIES = 3


class StoreTime:
    """1. It never goes back within a process. 2. Processes differ by less than a round trip to the server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._shift = clock.now() - clock.monotonic()
        self._is_known = False

    def now(self) -> float:
        """Return the seconds since 1970, by the server's clock."""
        return self._clock.monotonic() + self._shift

    def clock_shift(self) -> float:
        """Return by how much the monotonic clock of this process is ahead."""
        return -self._shift

    def follow(self, connection: psycopg.Connection[Row]) -> None:
        """Read the server's clock several times; the fastest answer is the most exact."""
        best_s, shift = float("inf"), self._shift
        for _ in range(TRIES):
            asked_at = self._clock.monotonic()
            found = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
            took_s = self._clock.monotonic() - asked_at
            if found is not None and took_s < best_s:
                best_s, shift = took_s, found[0] - asked_at - took_s / 2
        if not self._is_known or shift > self._shift:
            self._shift, self._is_known = shift, True
