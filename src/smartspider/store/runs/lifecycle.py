"""Changing, ending and deleting runs. All functions run inside a transaction."""

from __future__ import annotations

from collections import Counter

from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.requests.refusal import EXPECTED, RefusalCode
from smartspider.core.runs.run import (
    FINISHED,
    LIMIT,
    UNFINISHED,
    Counters,
    Run,
    RunState,
    can_transition,
    decode_capabilities,
    end_id,
    first_id,
)
from smartspider.store import audit, cookies, events, metrics, statements, tasks
from smartspider.store.database import Connection, Row, row, rows
from smartspider.store.logs import store
from smartspider.store.settle import files, list_pages, recrawl
from smartspider.store.settle import run as ledger_run
from smartspider.store.settle.left_out import LeftOutCounts

SQL = statements.load("runs.sql", __package__)

DELETED = "deleted"
"""The reason of a run that is cancelled in order to delete it."""


def read_run(connection: Connection, run_id: int) -> Run:
    """Return a run."""
    return _run(run_id, row(connection, SQL.get_run, (run_id,)))


def _run(run_id: int, found: Row | None) -> Run:
    if found is None:
        raise NotFound(f"there is no run {run_id}", hint="`smartspider run list` shows all runs")
    number, name, spec, spec_hash, state, reason, created, started, finished, *rest = found
    task_id, task_version, started_by, active_s, resumed_at, lasting_s, *rest = rest
    tuning, revision, needs, in_flight, *counts = rest
    return Run(
        id=number,
        task_name=name,
        spec=spec,
        spec_hash=spec_hash,
        state=state,
        reason=reason,
        counters=Counters(*counts),
        in_flight=in_flight,
        created_at=created,
        started_at=started,
        finished_at=finished,
        task_id=task_id,
        task_version=task_version,
        started_by=started_by,
        active_s=active_s,
        resumed_at=resumed_at,
        max_duration_s=lasting_s,
        tuning=tuning,
        revision=revision,
        needs=decode_capabilities(needs),
    )


def set_state(
    connection: Connection, run_id: int, state: RunState, reason: str, now: float, *, actor: str
) -> None:
    """Change the state of a run if allowed, and audit it."""
    run = read_run(connection, run_id)
    if run.state == state:
        return
    if not can_transition(run.state, state):
        raise NotAllowed(
            f"run {run_id} is {run.state} and cannot become {state}",
            hint="start a new run of its task"
            if run.state in FINISHED
            else "`smartspider run show` shows its state",
        )
    if state in UNFINISHED and run.state not in UNFINISHED:
        require_task(connection, run)
    change_state(connection, run, state, reason, now)
    change = {"from": run.state, "to": state, "reason": reason}
    audit.write(connection, now, actor, "run.state", f"run:{run_id}", **change)


def require_task(connection: Connection, run: Run) -> None:
    """Raise `NotAllowed` if the task of a run to reopen is deleted."""
    if tasks.get(connection, run.task_id).is_deleted:
        raise NotAllowed(f"the task of run {run.id} is deleted", hint="crawl its task file again")


def change_state(connection: Connection, run: Run, state: RunState, reason: str, now: float) -> None:
    """Change the state, and update the gates of the run's hosts, since its settings may apply there or no
    longer.
    """
    connection.execute(SQL.set_state, (run.id, state, reason, now))
    connection.frontier.run_changed(run.id)
    events.write_state_change(connection, run.id, (run.state, state, reason), now)
    if state in ("completed", "failed"):
        connection.frontier.drop(run.id)


def finish_step(connection: Connection, run_id: int, now: float) -> bool:
    """Make one bounded step towards the end of a run. Return True if another one is needed at once."""
    found = connection.execute(SQL.get_run, (run_id,))
    open_query = connection.execute(SQL.has_open, (run_id,))  # sent ahead to save a round trip
    run = _run(run_id, found.fetchone())
    if run.state == "running" and (limit := limit_reached(connection, run, now)):
        if ledger_run.waits_for_files(connection, run_id, limit):
            return close_rest(connection, run_id, limit, now, keeps_files=True)
        change_state(connection, run, "stopping", limit, now)
        return True
    if (
        run.state == "stopping"
        and run.reason.startswith(LIMIT)
        and close_rest(connection, run_id, run.reason, now)
    ):
        return True
    if run.state not in ("running", "stopping"):
        return False
    has_open = open_query.fetchone()
    if has_open and not has_open[0]:
        state, reason = _ending(connection, run)
        change_state(connection, run, state, reason, now)
    elif run.state == "stopping" and not run.reason.startswith(LIMIT) and _is_idle(connection, run):
        change_state(connection, run, "stopped", run.reason, now)
    else:
        events.write_progress(connection, run_id, now)
    return False


def _is_idle(connection: Connection, run: Run) -> bool:
    return run.in_flight == 0 and connection.frontier.is_counted(run.id)


def limit_reached(connection: Connection, run: Run, now: float) -> str:
    """Return the reason if a run has reached a limit; empty if none."""
    if now >= run.deadline_at:
        return f"{LIMIT}max_duration_s {run.max_duration_s:g} reached"
    counted = ledger_run.read(connection, run.id)
    return counted.limit_reason() if counted is not None else ""


def close_rest(
    connection: Connection,
    run_id: int,
    reason: str,
    now: float,
    *,
    also_leased: bool = False,
    keeps_files: bool = False,
) -> bool:
    """Close some thousand open rows as skipped. Return True while there are more.

    Leased rows are left to their workers, unless the run accepts no pages; their leases stay with the
    gates. With `keeps_files` the run goes on, and requests for files stay open.
    """
    code: RefusalCode = "limit" if reason.startswith(LIMIT) else "run_ended"
    found = rows(connection, SQL.close_rest, (run_id, reason, now, also_leased, code, keeps_files))
    closed = Counter(bool(is_next_page) for _, is_next_page in found)
    if keeps_files:
        for url_id, _ in found:
            connection.frontier.forget(run_id, url_id)
    if not closed:
        if not keeps_files:
            connection.frontier.drop(run_id)
        return False
    connection.execute(SQL.count_skipped, (closed.total(), run_id))
    counts = LeftOutCounts(connection, run_id)
    for is_next_page, count in closed.items():
        counts.count_requests((code, is_next_page), count)
    counts.write()
    metrics.add(connection, {metrics.left_out_key(code): closed.total()})
    return True


def close_ended(connection: Connection, run_id: int, now: float) -> bool:
    """Close the open rows of an ended run, leased ones included. Return True while there are more.

    A run that was reopened meanwhile is left alone.
    """
    run = read_run(connection, run_id)
    return run.state in FINISHED and close_rest(connection, run_id, run.state, now, also_leased=True)


def is_compared_with(connection: Connection, run_id: int) -> bool:
    """Return whether later runs compare their pages or items with those of a run."""
    found = row(connection, SQL.is_compared_with, (run_id, first_id(run_id), end_id(run_id)))
    return found is not None and bool(found[0])


def begin_delete(connection: Connection, run_id: int, now: float, actor: str) -> None:
    """Cancel an idle run so that it cannot be resumed while it is deleted.

    Verdicts on leases of an ended run come late and add nothing, whether or not the run exists.
    """
    run = read_run(connection, run_id)
    if run.state in ("running", "stopping"):
        raise NotAllowed(f"run {run_id} is {run.state}", hint="stop or cancel it first, then delete it")
    if run.in_flight and run.state not in FINISHED:
        raise NotAllowed(
            f"run {run_id} is {run.state}, and {run.in_flight} of its requests are still in flight",
            hint="try again in a moment, or cancel it first",
        )
    connection.execute(SQL.delete_begun, (DELETED, run_id))
    if run.state != "cancelled":
        events.write_state_change(connection, run_id, (run.state, "cancelled", DELETED), now)
    of = {"task": f"task:{run.task_id}", "version": run.task_version, "items": run.counters.items}
    audit.write(connection, now, actor, "run.deleted", f"run:{run_id}", **of)


def delete_step(connection: Connection, run_id: int) -> bool:
    """Delete some rows of a run, the run itself last. Return True while there are more.

    Its leases expire; until then they count at the gates of their hosts.
    """
    connection.frontier.drop(run_id)
    if recrawl.delete_pages(connection, run_id) or store.delete_run_lines(connection, run_id):
        return True
    connection.execute(events.SQL.forget, (run_id,))
    if connection.changes():
        return True
    low, high = first_id(run_id), end_id(run_id)
    for sql in (
        *(SQL.delete_keys, SQL.delete_rejects, SQL.delete_changes),
        *(SQL.delete_items, SQL.delete_attempts, list_pages.SQL.delete, SQL.delete_urls),
    ):
        connection.execute(sql, (low, high))
        if connection.changes():
            return True
    for sql in (SQL.delete_left_out, files.SQL.delete_files, cookies.SQL.delete, events.SQL.forget_series):
        connection.execute(sql, (run_id,))
        if connection.changes():
            return True
    for sql in (
        *(SQL.delete_left_out_counts, SQL.delete_visits, SQL.delete_sends, SQL.delete_counts),
        SQL.delete_run,
    ):
        connection.execute(sql, (run_id,))
    return False


def _ending(connection: Connection, run: Run) -> tuple[RunState, str]:
    if run.state == "stopping":
        return "completed", run.reason
    fetched = row(connection, SQL.entry_fetched, (run.id,))
    if fetched and fetched[0]:
        return "completed", _cut_short(connection, run.id)
    why = row(connection, SQL.entry_reason, (run.id,))
    if why is None:
        return "failed", "no entry URL was fetched"
    return "failed", f"no entry URL could be fetched: {without_userinfo(why[0])}: {why[1]}"


def _cut_short(connection: Connection, run_id: int) -> str:
    """Return which next pages were not followed although the task does not ask for that; empty if none."""
    found = rows(connection, SQL.next_pages_left_out, (run_id,))
    refused = [f"{number} by {code}" for code, number in sorted(found) if code not in EXPECTED]
    return f"next pages not followed: {', '.join(refused)}" if refused else ""
