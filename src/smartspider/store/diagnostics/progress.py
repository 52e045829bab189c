"""The progress of a run, in one short read. All functions run inside a transaction."""

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
"""A worker with a heartbeat within this time serves the live runs."""
LANES = 100
"""Queues of a run that are read, open and closed ones each, in the order they open."""
LONGEST = 4
"""Queues returned, the longest of those read: the run waits for these in the end."""


class ProgressMark(msgspec.Struct, frozen=True):
    """Number of ended requests of a run at a moment, without skipped ones."""

    at: float
    ended: int


class HostQueue(msgspec.Struct, frozen=True):
    """Queued requests of a run for a host, and the delay of the host."""

    host: str
    queued: int
    delay_s: float
    opens_at: float


class RunProgress(msgspec.Struct, frozen=True):
    """A run with its recent rate and its queues."""

    run: Run
    now: float
    """Store time."""
    active_s: float
    """Seconds that the run was running in total."""
    resumed_at: float | None
    """Since when the run is running without a break."""
    earlier: ProgressMark | None
    """Half a minute ago, at `resumed_at` if that is later, or at the oldest known moment."""
    workers: int
    """Workers that serve the run."""
    queues: list[HostQueue]
    """The longest of those read."""


class _EndedCounts(msgspec.Struct, frozen=True):
    """The counters of a progress event that count as ended."""

    success_count: int = 0
    redirect_count: int = 0
    missing_count: int = 0
    fail_count: int = 0

    @property
    def ended(self) -> int:
        return self.success_count + self.redirect_count + self.missing_count + self.fail_count


_decoder = msgspec.json.Decoder(_EndedCounts)


def resting(run: Run, now: float) -> RunProgress:
    """Return the progress of a run that does not work, without reading anything."""
    going_s = 0.0 if run.resumed_at is None else max(now - run.resumed_at, 0.0)
    return RunProgress(run, now, run.active_s + going_s, run.resumed_at, earlier=None, workers=0, queues=[])


def read_progress(connection: Connection, run_id: int, now: float) -> RunProgress:
    """Return a run with its recent rate and its queues."""
    run = lifecycle.read_run(connection, run_id)
    active_s, resumed_at, last = row(connection, SQL.times, (run_id,)) or (0.0, None, 0)
    is_running = run.state in ("running", "stopping")
    lanes = lanes_of(connection, run_id, now) if is_running else {}
    lately = max(
        now - LATELY_S, resumed_at or 0.0
    )  # what ended before a break says nothing about the present rate
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
    """Return the progress event at or first after a moment. Binary search, since
    event numbers follow time.
    """
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
    return None if progress is None else ProgressMark(progress[0], _decoder.decode(progress[1]).ended)


def lanes_of(connection: Connection, run_id: int, now: float) -> dict[int, int]:
    """Return queued requests of a run by host, for a bounded number of hosts."""
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
