"""Reopening the failed requests of a run, in bounded steps. All functions run inside a transaction."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.errors import NotAllowed
from smartspider.core.frontier.verdict import ClosedState
from smartspider.core.runs.run import FINISHED, Run
from smartspider.store import audit, events
from smartspider.store.database import Connection, rows
from smartspider.store.frontier_updates import SUSPECT_AFTER, QueueEntry
from smartspider.store.runs import lifecycle
from smartspider.store.settle.left_out import LeftOutCounts

SQL = lifecycle.SQL

BATCH = 2000
"""Rows read by one step."""

STATES: tuple[ClosedState, ...] = ("dead", "broken", "skipped")
"""States of failed rows. Of the skipped ones only those count whose host was abandoned."""


class RetrySweep(msgspec.Struct):
    """The progress of a retry: its run and actor, the rows read by one step, the states still to read, and
    the number of reopened rows.
    """

    run_id: int
    actor: str
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
    found = rows(connection, SQL.failed, (run.id, state, sweep.after, sweep.batch))
    failed = [one for one in found if state != "skipped" or one[4] == "host_held"]
    if failed:
        _report(connection, run, sweep, now)
        open_failed(connection, run.id, failed, state, now)
        if run.state not in ("queued", "running"):
            lifecycle.change_state(connection, run, "queued", "retry of failed requests", now)
    # These changes hold only if the transaction commits; a failed step ends the retry.
    sweep.opened += len(failed)
    sweep.after = found[-1][0] if len(found) == sweep.batch else 0
    if len(found) < sweep.batch:
        sweep.states.pop(0)
    return bool(sweep.states)


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
        detail = {"from": run.state, "failed": run.counters.failed}
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
        for *_, code, is_next_page in failed:
            counts.count_requests((code, bool(is_next_page)), -1)
        counts.write()
    frontier = connection.frontier
    held = frontier.fence(run_id, {url_id for url_id, *_ in failed})
    free = [one for one in failed if one[0] not in held]
    suspects = [QueueEntry(*one[:3]) for one in free if one[3] >= SUSPECT_AFTER]
    frontier.set_apart(run_id, suspects, now)
    frontier.offer(run_id, [QueueEntry(*one[:3]) for one in free if one[3] < SUSPECT_AFTER])
