"""Reopening the failed requests of a run, in bounded steps. All functions run inside a transaction."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.errors import NotAllowed
from smartspider.core.frontier.cause import CauseCode
from smartspider.core.frontier.verdict import ClosedState
from smartspider.core.runs.run import FINISHED, Run, run_of
from smartspider.store import audit, events
from smartspider.store.database import Connection, row, rows
from smartspider.store.frontier_updates import SUSPECT_AFTER, QueueEntry
from smartspider.store.runs import lifecycle
from smartspider.store.settle.left_out import LeftOutCounts

SQL = lifecycle.SQL

BATCH = 2000
"""Rows read by one step."""

STATES: tuple[ClosedState, ...] = ("dead", "broken", "skipped")
"""States of failed rows. Of the skipped ones only those count whose host was abandoned."""


class FailureFilter(msgspec.Struct, frozen=True):
    """Failed requests to retry: those that meet all conditions."""

    cause: CauseCode | None = None
    host: str | None = None
    ids: tuple[int, ...] = ()
    """At most a thousand; empty: all."""

    @property
    def detail(self) -> dict[str, object]:
        """The conditions, for the audit."""
        given = {"cause": self.cause, "host": self.host, "pages": len(self.ids) or None}
        return {name: value for name, value in given.items() if value is not None}


class RetrySweep(msgspec.Struct):
    """The progress of a retry: its run, actor and filter, the rows read by one step, the states still to
    read, and the number of reopened rows.
    """

    run_id: int
    actor: str
    only: FailureFilter = FailureFilter()
    batch: int = BATCH
    states: list[ClosedState] = msgspec.field(default_factory=lambda: list(STATES))
    after: int = 0
    opened: int = 0


def step(connection: Connection, sweep: RetrySweep, now: float) -> bool:
    """Make one step of a retry. Return True while there are more. After each, rows, counters, queues and
    state agree.

    The run is queued with the first reopened rows. A crash between steps leaves the others closed for the
    next retry.
    """
    run = _check(connection, sweep.run_id)
    if run.state in FINISHED and lifecycle.close_ended(connection, run.id, now):
        return True
    state = sweep.states[0]
    found = _read(connection, sweep, state)
    failed = _matching(connection, found, sweep.only, state)
    if failed:
        _report(connection, run, sweep, now)
        open_failed(connection, run.id, failed, state, now)
        if run.state not in ("queued", "running"):
            lifecycle.change_state(connection, run, "queued", "retry of failed requests", now)
    # These changes hold only if the transaction commits; a failed step ends the retry.
    sweep.opened += len(failed)
    is_last = len(found) < sweep.batch or bool(sweep.only.ids)
    sweep.after = 0 if is_last else found[-1][0]
    if is_last:
        sweep.states.pop(0)
    return bool(sweep.states)


def _read(connection: Connection, sweep: RetrySweep, state: ClosedState) -> list[tuple[Any, ...]]:
    """Return the next rows in a state, among which those to retry are."""
    only = sweep.only
    if only.ids:
        own = [(url_id, state) for url_id in sorted(only.ids) if run_of(url_id) == sweep.run_id]
        return connection.executemany(SQL.failed_page, own).fetchall() if own else []
    if only.cause is not None:
        place = (sweep.run_id, only.cause, state, sweep.after, sweep.batch)
        return rows(connection, SQL.failed_with_cause, place)
    return rows(connection, SQL.failed, (sweep.run_id, state, sweep.after, sweep.batch))


def _matching(
    connection: Connection, found: list[tuple[Any, ...]], only: FailureFilter, state: ClosedState
) -> list[tuple[Any, ...]]:
    """Return the rows to retry. Of skipped ones these are those whose host was abandoned."""
    if state == "skipped":
        found = [one for one in found if one[4] == "host_held"]
    if only.cause is not None:
        found = [one for one in found if one[4] == only.cause]
    if only.host is None:
        return found
    host = row(connection, SQL.host_id, (only.host,))
    return [one for one in found if host is not None and one[1] == host[0]]


def _check(connection: Connection, run_id: int) -> Run:
    """Return the run if its failed requests may be reopened now."""
    run = lifecycle.read_run(connection, run_id)
    if run.state == "cancelled":
        raise NotAllowed(f"run {run_id} is cancelled and cannot be resumed", hint="start another run")
    if run.state == "stopping":
        raise NotAllowed(f"run {run_id} is stopping", hint="retry after it has stopped")
    lifecycle.require_task(connection, run)
    return run


def _report(connection: Connection, run: Run, sweep: RetrySweep, now: float) -> None:
    """Write the audit entry and the event, once per retry."""
    if not sweep.opened:
        detail = {"from": run.state, "failed": run.counters.failed, **sweep.only.detail}
        audit.write(connection, now, sweep.actor, "run.retried", f"run:{run.id}", **detail)
        events.write(connection, run.id, "run.retried", detail, now)


def open_failed(
    connection: Connection, run_id: int, failed: list[tuple[Any, ...]], state: ClosedState, now: float
) -> None:
    """Reopen rows and queue them; those that lost workers before are leased alone again."""
    connection.executemany(SQL.open_again, [(url_id,) for url_id, *_ in failed])
    connection.execute(SQL.opened, (*(len(failed) * (name == state) for name in STATES), run_id))
    if state == "skipped":
        counts = LeftOutCounts(connection, run_id)
        for *_, cause, is_next_page in failed:
            counts.count_requests((cause, bool(is_next_page)), -1)
        counts.write()
    frontier = connection.frontier
    held = frontier.fence(run_id, {url_id for url_id, *_ in failed})
    free = [one for one in failed if one[0] not in held]
    suspects = [QueueEntry(*one[:3]) for one in free if one[3] >= SUSPECT_AFTER]
    frontier.set_apart(run_id, suspects, now)
    frontier.offer(run_id, [QueueEntry(*one[:3]) for one in free if one[3] < SUSPECT_AFTER])
