"""What watchers of runs are told, in SQL. What writes runs inside the transaction of what it tells of."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from smartspider.core.events import (
    PROGRESS,
    PROGRESS_EVERY_S,
    Event,
    GuardTripped,
    HostAbandoned,
    HostHeld,
    RunEvent,
)
from smartspider.core.runs.run import FINISHED, Counters, RunState
from smartspider.store import statements
from smartspider.store.database import Connection, Database, row, rows
from smartspider.views.runs import counted

SQL = statements.load("events.sql", __package__)

PUBLISHED = (HostHeld, HostAbandoned, GuardTripped)
"""What happens in a settle that watchers are told at once."""

_encode = msgspec.json.Encoder().encode


def write(connection: Connection, run_id: int, name: str, data: dict[str, Any], now: float) -> None:
    """Add an event to those of a run; a run that is gone has none."""
    found = row(connection, SQL.next_number, (run_id,))
    if found is not None:
        connection.execute(SQL.add, (run_id, found[0], now, name, _encode(data).decode()))


def write_events(connection: Connection, happened: list[Event], now: float) -> None:
    """Add those of the events that watchers are told."""
    for event in happened:
        if isinstance(event, PUBLISHED):
            data = msgspec.to_builtins(event)
            del data["run_id"]
            write(connection, event.run_id, event.name, data, now)


def write_state_change(
    connection: Connection, run_id: int, change: tuple[RunState, RunState, str], now: float
) -> None:
    """A run went from a state into another, for a reason; with how far it was, where that is not known yet.

    The counters of a run that ends are the final ones: what is open then will be skipped.
    """
    old, new, reason = change
    if new in FINISHED:
        connection.execute(SQL.changed, (run_id,))
    write_progress(connection, run_id, now, at_least_s=0.0)
    write(connection, run_id, "run.state", {"from": old, "to": new, "reason": reason}, now)


def write_progress(
    connection: Connection, run_id: int, now: float, *, at_least_s: float = PROGRESS_EVERY_S
) -> None:
    """How far a run is, if anything changed, and so much time has passed since that was told."""
    for number, state, in_flight, *counts in rows(connection, SQL.progress, (run_id, now, now - at_least_s)):
        counters = Counters(*counts)
        if state in FINISHED:
            counters = msgspec.structs.replace(counters, skipped=counters.skipped + counters.open)
        left = max(in_flight - connection.frontier.ending(run_id), 0)
        data = {"state": state, **counted(counters, left)}
        connection.execute(SQL.add, (run_id, number, now, PROGRESS, _encode(data).decode()))


class EventFeed:
    """1. Events of a run are numbered 1, 2, 3, ... in the order of their transactions, without a gap.
    2. An event stands or falls with the write it tells of: a state, a hold, a guard, a turned knob.
    3. Progress is told when something changed, at most every `PROGRESS_EVERY_S`, and a last time when a run
       ends, with the final counters.
    4. Only the oldest events of a run are ever forgotten, and it is known up to which.
    5. Reading costs what is read, whatever else is stored.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def of_run(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[RunEvent]:
        """Events of a run with a greater number than `after`, oldest first."""
        return await self._db.read(lambda connection: _events(connection, SQL.of_run, run_id, after, limit))

    async def since(self, event_id: int, *, limit: int = 1000) -> list[RunEvent]:
        """Events of all runs with a greater id, oldest first."""
        return await self._db.read(lambda connection: _events(connection, SQL.since, event_id, limit))

    async def last_id(self) -> int:
        """The id of the newest event; 0 before the first."""
        return await self._number(SQL.last_id)

    async def first_number(self, run_id: int) -> int:
        """The number of the oldest event of a run that is still kept; 1 when none was forgotten."""
        return await self._number(SQL.first_number, run_id)

    async def trim(self, run_id: int, keep: int) -> int:
        """Forget all but the newest events of a run; how many."""

        def work(connection: Connection) -> int:
            connection.execute(SQL.trim, (run_id, keep))
            return connection.changes()

        total = 0
        while forgotten := await self._db.write(work):
            total += forgotten
            await asyncio.sleep(0)  # a loop that serves others goes on in between
        return total

    async def _number(self, sql: str, *values: int) -> int:
        found = await self._db.fetch(sql, values)
        return int(found[0][0]) if found else 0


def _events(connection: Connection, sql: str, *values: int) -> list[RunEvent]:
    return [
        RunEvent(number, run_id, place, at, name, data.encode())
        for number, run_id, place, at, name, data in rows(connection, sql, values)
    ]
