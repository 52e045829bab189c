"""Store time of a data folder: the monotonic clock of the machine plus a shift kept in the store.

It is the same for every process, and steady whatever happens to the wall clock, which it follows when that
can be believed: `core/clock_doubt.py` decides.
"""

from __future__ import annotations

from smartspider.core.clock_doubt import AGREES_S, ClockDoubt, ClockStep, judge_clock
from smartspider.core.tasks import SYSTEM
from smartspider.interfaces.machine_clock import MachineClock
from smartspider.store import clock as clocks
from smartspider.store import statements
from smartspider.store.clock import ClockRow
from smartspider.store.database import Connection, one

SQL = statements.load("sql/database.sql", __package__)


def stored_shift(connection: Connection, clock: MachineClock) -> float:
    """Return the shift for a process that has not written yet."""
    known = clocks.read(connection)
    return known.shift_s if known.boot == clock.boot() else clock.now() - clock.monotonic()


def follow_wall_clock(connection: Connection, clock: MachineClock) -> float:
    """Return the shift of this transaction; write what was decided about the wall clock."""
    known = clocks.read(connection)
    wall, monotonic = clock.now(), clock.monotonic()
    ahead_s = wall - monotonic - known.shift_s
    if abs(ahead_s) <= AGREES_S and known.ahead_s is None:
        return known.shift_s
    now = monotonic + known.shift_s
    if _has_restarted(connection, known, clock, now):
        return _begin_anew(connection, clock, wall, monotonic)
    decision = judge_clock(ahead_s, now, known.doubt, slept_s=clock.slept() - known.slept_s)
    match decision:
        case ClockStep():
            return take_step(connection, clock, decision, known.shift_s)
        case ClockDoubt() if decision != known.doubt:
            clocks.write_doubt(connection, decision, now)
        case None if known.doubt is not None:
            clocks.write_agreement(connection, known.doubt, now)
    return known.shift_s


def take_step(
    connection: Connection, clock: MachineClock, step: ClockStep, shift_s: float, *, actor: str = SYSTEM
) -> float:
    """Let store time follow the wall clock; return the new shift."""
    shift_s += step.ahead_s
    for move in (SQL.move_leases, SQL.move_later, SQL.move_slots):
        connection.execute(move, (step.ahead_s,))
    connection.execute(SQL.open_lanes)
    connection.execute(clocks.SQL.set, (shift_s, clock.boot(), clock.slept()))
    clocks.write_step(connection, step, clock.monotonic() + shift_s, actor=actor)
    return shift_s


def _has_restarted(connection: Connection, known: ClockRow, clock: MachineClock, now: float) -> bool:
    """Return whether the machine was started since, or is another one: its monotonic clock began anew."""
    return known.boot != clock.boot() or now < one(connection, SQL.last_moment)


def _begin_anew(connection: Connection, clock: MachineClock, wall: float, monotonic: float) -> float:
    """Continue from the wall clock, but not from before the last recorded moment: then it is in doubt."""
    last = float(one(connection, SQL.last_moment))
    begin = wall if wall >= last - AGREES_S else last
    connection.execute(clocks.SQL.set, (begin - monotonic, clock.boot(), clock.slept()))
    connection.execute(SQL.open_lanes)
    if begin != wall:
        clocks.write_doubt(connection, ClockDoubt(wall - begin, begin), begin)
    return begin - monotonic
