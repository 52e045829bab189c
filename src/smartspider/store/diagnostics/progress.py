"""How a run stands, in one short read. Everything here runs inside a transaction."""

from __future__ import annotations

import msgspec

from smartspider.core.runs.run import Run
from smartspider.store import statements
from smartspider.store.database import Connection, row, rows
from smartspider.store.hosts import gates
from smartspider.store.runs import lifecycle

SQL = statements.load("diagnostics.sql", __package__)

LATELY_S = 30.0
SERVES_S = 30.0
"""A worker that was seen within this time serves the runs there are."""
LANES = 100
"""Queues of a run that are looked at, open and closed ones each; those that open first come first."""
LONGEST = 4
"""Of these, the longest are the ones a run waits for in the end."""


class ProgressMark(msgspec.Struct, frozen=True):
    """How many requests of a run had ended at a moment, skipped ones aside."""

    at: float
    ended: int


class HostQueue(msgspec.Struct, frozen=True):
    """What a run has queued for a host, and how fast that may leave."""

    host: str
    queued: int
    delay_s: float
    opens_at: float


class RunProgress(msgspec.Struct, frozen=True):
    """A run, how it went lately, and what stands in its way."""

    run: Run
    now: float
    """By the clock of the store."""
    active_s: float
    """Seconds it was running in all."""
    resumed_at: float | None
    """Since when it is running without a break."""
    earlier: ProgressMark | None
    """Half a minute ago, when it last went on if that is later, or at the oldest moment that is known."""
    workers: int
    """That serve it."""
    queues: list[HostQueue]
    """The longest of those looked at."""


class _Told(msgspec.Struct, frozen=True):
    """Of what was told of a run, that which counts as ended."""

    success_count: int = 0
    redirect_count: int = 0
    missing_count: int = 0
    fail_count: int = 0

    @property
    def ended(self) -> int:
        return self.success_count + self.redirect_count + self.missing_count + self.fail_count


_told = msgspec.json.Decoder(_Told)


def read_progress(connection: Connection, run_id: int, now: float) -> RunProgress:
    """A run, how it went lately, and what stands in its way."""
    run = lifecycle.read_run(connection, run_id)
    active_s, resumed_at, last = row(connection, SQL.times, (run_id,)) or (0.0, None, 0)
    is_running = run.state in ("running", "stopping")
    lanes = lanes_of(connection, run_id, now) if is_running else {}
    lately = max(now - LATELY_S, resumed_at or 0.0)  # what ended before a break says nothing about now
    longest = sorted(lanes.items(), key=lambda lane: lane[1], reverse=True)[:LONGEST]
    return RunProgress(
        run=run,
        now=now,
        active_s=active_s + (now - resumed_at if resumed_at is not None else 0.0),
        resumed_at=resumed_at,
        earlier=_earlier(connection, run_id, last, lately) if is_running else None,
        workers=_workers(connection, run_id, now) if is_running else 0,
        queues=[_host_queue(connection, host_id, queued) for host_id, queued in longest],
    )


def _workers(connection: Connection, run_id: int, now: float) -> int:
    holders = row(connection, SQL.holders, (run_id,))
    serving = row(connection, SQL.serving, (now - SERVES_S,))
    return max(holders[0] if holders else 0, serving[0] if serving else 0)


def _earlier(connection: Connection, run_id: int, last: int, moment: float) -> ProgressMark | None:
    """What was told of a run at a moment, or first after it; found by halving, for numbers follow time."""
    found = row(connection, SQL.first_event, (run_id,))
    if not found or found[0] is None:
        return None
    low, high = int(found[0]), last + 1
    first = low
    while low < high:
        middle = (low + high) // 2
        at = row(connection, SQL.event_at, (run_id, middle))
        if at is not None and at[0] <= moment:
            low = middle + 1
        else:
            high = middle
    progress = row(connection, SQL.progress_before, (run_id, low - 1)) if low > first else None
    if progress is None and first == 1:
        return ProgressMark(moment, 0)
    progress = progress or row(connection, SQL.progress_after, (run_id, low))
    return None if progress is None else ProgressMark(progress[0], _told.decode(progress[1]).ended)


def lanes_of(connection: Connection, run_id: int, now: float) -> dict[int, int]:
    """Queued requests of a run by host, of a bounded number of hosts."""
    bounds = (run_id, LANES)
    found: dict[int, int] = dict(
        rows(connection, SQL.open_lanes, bounds) + rows(connection, SQL.closed_lanes, bounds)
    )
    for host_id, count in rows(connection, SQL.not_queued, (run_id, now)):
        if host_id in found:
            found[host_id] -= count
    return {host_id: queued for host_id, queued in found.items() if queued > 0}


def _host_queue(connection: Connection, host_id: int, queued: int) -> HostQueue:
    gate = gates.read_gate(connection, host_id)
    name = (row(connection, SQL.host, (host_id,)) or ("",))[0]
    return HostQueue(name, queued, gate.delay_s, gate.opens_at)
