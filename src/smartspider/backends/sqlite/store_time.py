"""Store time: the machine's monotonic clock, shared by all its processes, plus a shift kept in the store.

It never goes back and is the same for every process, whatever happens to the wall clock.
"""

from __future__ import annotations

from smartspider.store import statements
from smartspider.store.database import Connection, one

SQL = statements.load("sql/store_time.sql", __package__)

JUMP_S = 1.0
"""Store time follows the wall clock if that is ahead by more than this."""


def follow(connection: Connection, wall: float, monotonic: float) -> float:
    """Return the shift of this transaction.

    If the wall clock was set forward, or the machine slept, all due times move along: no gap between two
    requests becomes shorter, and no living worker loses a lease.
    """
    shift = float(one(connection, SQL.shift))
    ahead_s = wall - monotonic - shift
    if ahead_s <= JUMP_S:
        return shift
    if monotonic + shift >= one(connection, SQL.last_moment):  # otherwise the machine's clock has restarted
        for move in (SQL.move_hosts, SQL.move_leases, SQL.move_later, SQL.move_runs):
            connection.execute(move, (ahead_s,))
    connection.execute(SQL.open_lanes)
    connection.execute(SQL.set_shift, (shift + ahead_s,))
    return shift + ahead_s
