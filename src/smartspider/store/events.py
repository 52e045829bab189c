"""Events of runs. The writing functions run inside the transaction of the write that they report."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from smartspider.core.events import (
    PROGRESS,
    PROGRESS_EVERY_S,
    CookiesInvalid,
    Event,
    GuardTripped,
    HostAbandoned,
    HostHeld,
    RunEvent,
    WorkerKilled,
)
from smartspider.core.runs.run import FINISHED, Counters, RunState
from smartspider.store import statements
from smartspider.store.database import Connection, Database, row, rows
from smartspider.views.runs import counted

SQL = statements.load("events.sql", __package__)

PUBLISHED = (HostHeld, HostAbandoned, GuardTripped, WorkerKilled, CookiesInvalid)
"""Events that are published at once."""

MAX_POINTS = 400
"""Points of a series before every other one is deleted."""
MAX_MARKS = 500
MARKS = frozenset({"run.state", "run.tuned", *(event.name for event in PUBLISHED)})
"""Events that explain why a series changes its course."""

_encode = msgspec.json.Encoder().encode


def write(connection: Connection, run_id: int, name: str, data: dict[str, Any], now: float) -> None:
    """Append an event to those of a run; does nothing for a deleted run."""
    found = row(connection, SQL.next_number, (run_id,))
    if found is not None:
        event = (run_id, found[0], now, name, _encode(data).decode())
        connection.execute(SQL.add, event)
        if name in MARKS:
            connection.execute(SQL.add_mark, (*event, MAX_MARKS))


def write_events(connection: Connection, happened: list[Event], now: float) -> None:
    """Append those of the events that are published."""
    for event in happened:
        if isinstance(event, PUBLISHED):
            data = msgspec.to_builtins(event)
            del data["run_id"]
            write(connection, event.run_id, event.name, data, now)


def write_state_change(
    connection: Connection, run_id: int, change: tuple[RunState, RunState, str], now: float
) -> None:
    """Append a change of state, preceded by the progress unless that is up to date.

    The counters of a run that ends are final: its open requests count as skipped.
    """
    old, new, reason = change
    if new in FINISHED:
        connection.execute(SQL.changed, (run_id,))
    write_progress(connection, run_id, now, at_least_s=0.0)
    write(connection, run_id, "run.state", {"from": old, "to": new, "reason": reason}, now)


def write_progress(
    connection: Connection, run_id: int, now: float, *, at_least_s: float = PROGRESS_EVERY_S
) -> None:
    """Append the progress of a run if it changed and at least `at_least_s` have passed since the last."""
    told = rows(connection, SQL.progress, (run_id, now, now - at_least_s))
    for number, state, in_flight, *counts, point_at, point_s, points in told:
        counters = Counters(*counts)
        if state in FINISHED:
            counters = msgspec.structs.replace(counters, skipped=counters.skipped + counters.open)
        left = max(in_flight - connection.frontier.ending(run_id), 0)
        data = {"state": state, **counted(counters, left)}
        event = (run_id, number, now, PROGRESS, _encode(data).decode())
        connection.execute(SQL.add, event)
        if at_least_s == 0.0 or now - point_at >= point_s:
            connection.execute(SQL.add_point, event)
            connection.execute(SQL.count_point, (now, run_id))
            if points + 1 >= MAX_POINTS:
                connection.execute(SQL.thin, (run_id,))
                connection.execute(SQL.thinned, (run_id,))


class RunPoint(msgspec.Struct, frozen=True):
    """A point of a run's series: its progress, or an event that explains it. `data` is that of the event."""

    at: float
    name: str
    data: bytes


class EventFeed:
    """1. Events of a run are numbered 1, 2, 3, ... in the order of their transactions, without a gap.
    2. An event is committed together with the write it reports: a state, a hold, a guard, a changed
       setting.
    3. Progress is reported when something changed, at most every `PROGRESS_EVERY_S`, and at the end of a
       run with the final counters.
    4. Only the oldest events of a run are deleted, and the first kept number is known.
    5. The cost of reading depends only on the number of events read.
    6. The series of a run covers all of it in at most `MAX_POINTS` points of progress, the more apart the
       longer it lasts, and `MAX_MARKS` others. Its last point has the final counters.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def of_run(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[RunEvent]:
        """Return events of a run with numbers greater than `after`, oldest first."""
        return await self._db.read(lambda connection: _events(connection, SQL.of_run, run_id, after, limit))

    async def since(self, event_id: int, *, limit: int = 1000) -> list[RunEvent]:
        """Return events of all runs with ids greater than `event_id`, oldest first."""
        return await self._db.read(lambda connection: _events(connection, SQL.since, event_id, limit))

    async def last_id(self) -> int:
        """Return the id of the newest event; 0 before the first."""
        return await self._number(SQL.last_id)

    async def first_number(self, run_id: int) -> int:
        """Return the number of the oldest kept event of a run; 1 if none was deleted."""
        return await self._number(SQL.first_number, run_id)

    async def series(self, run_id: int) -> list[RunPoint]:
        """Return the series of a run, oldest first."""
        found = await self._db.fetch(SQL.series, (run_id,))
        return [RunPoint(at, name, data.encode()) for at, name, data in found]

    async def trim(self, run_id: int, keep: int) -> int:
        """Delete all but the newest events of a run. Return the number deleted."""

        def work(connection: Connection) -> int:
            connection.execute(SQL.trim, (run_id, keep))
            return connection.changes()

        total = 0
        while forgotten := await self._db.write(work):
            total += forgotten
            await asyncio.sleep(0)  # let other tasks of the loop run
        return total

    async def _number(self, sql: str, *values: int) -> int:
        found = await self._db.fetch(sql, values)
        return int(found[0][0]) if found else 0


def _events(connection: Connection, sql: str, *values: int) -> list[RunEvent]:
    return [
        RunEvent(number, run_id, place, at, name, data.encode())
        for number, run_id, place, at, name, data in rows(connection, sql, values)
    ]
