"""Creating, changing, ending and deleting runs. All functions run inside a transaction."""

from __future__ import annotations

from smartspider.core import failpoints
from smartspider.core.capabilities import decode_capabilities, encode_capabilities
from smartspider.core.errors import Conflict, NotAllowed, NotFound
from smartspider.core.redaction import without_userinfo
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import (
    FINISHED,
    LIMIT,
    UNFINISHED,
    Counters,
    Run,
    RunState,
    can_transition,
    end_id,
    first_id,
)
from smartspider.core.tasks import TaskSpec, TaskVersion
from smartspider.store import audit, events, statements, tasks
from smartspider.store.database import Connection, Row, row, rows
from smartspider.store.frontier_updates import QueueEntry
from smartspider.store.hosts import gates
from smartspider.store.logs import store
from smartspider.store.settle import children, recrawl
from smartspider.store.settle import run as ledger_run
from smartspider.store.settle.policies import encode_policies, encode_settings

SQL = statements.load("runs.sql", __package__)

ENTRY_BATCH = 5000
"""Entries written per statement."""
DELETED = "deleted"
"""The reason of a run that is cancelled in order to delete it."""


def create_run(
    connection: Connection,
    plan: Plan,
    now: float,
    actor: str,
    version: int | None = None,
    *,
    is_only: bool = False,
    started_by: str = "",
) -> int:
    """Create a queued run with its entries as open rows, and audit it and the rules its task turns off."""
    if not plan.entries:
        raise NotAllowed("a run needs at least one entry URL", hint="add one to entry_urls")
    polite, limits, guards = plan.politeness, plan.limits, plan.guards
    pinned = _pin(tasks.TaskWriter(connection, now, actor), plan, version)
    if is_only:
        _refuse_second(connection, plan.name, pinned.task_id)
    ((run_id,),) = rows(
        connection,
        SQL.add_run,
        (
            *(pinned.task_id, pinned.number),
            *(plan.name, plan.spec, plan.spec_hash, now, plan.weight, plan.concurrency, polite.spacing_s),
            *(polite.per_host, polite.per_domain, polite.adaptive, limits.max_pages, limits.max_items),
            *(limits.max_duration_s, limits.max_errors, plan.traps.max_urls_per_host),
            *(guards.consecutive_failures, guards.failure_rate, guards.failure_rate_after, guards.pauses),
            *(
                encode_policies(plan),
                encode_settings(plan),
                started_by or actor,
                encode_capabilities(plan.needs),
            ),
        ),
    )
    entries = _add_entries(connection, run_id, plan, now)
    connection.frontier.offer(run_id, entries)
    connection.execute(SQL.seeds_added, (len(entries), len(entries) + 1, run_id))
    failpoints.reach("run.created")
    subject, of = f"run:{run_id}", {"task": f"task:{pinned.task_id}", "version": pinned.number}
    audit.write(connection, now, actor, "run.created", subject, **of)
    for what in plan.overrides:
        audit.write(connection, now, actor, "politeness.overridden", subject, what=what)
    data = {
        "task_id": str(pinned.task_id),
        "task": plan.name,
        "version": pinned.number,
        "total": len(entries),
    }
    events.write(connection, run_id, "run.created", data, now)
    return int(run_id)


def _add_entries(connection: Connection, run_id: int, plan: Plan, now: float) -> list[QueueEntry]:
    """Add the entries as open rows, each once. Return their queue entries."""
    distinct = list({request.fingerprint: request for request in reversed(plan.entries)}.values())[::-1]
    memory = recrawl.open_memory(connection, run_id, plan, now)
    if memory is not None:
        distinct = [request for request, _ in memory.filter_due([(request, True) for request in distinct])]
    host_ids = gates.find_hosts(connection, (request.host for request in distinct))
    records, entries = [], []
    for url_id, request in enumerate(distinct, first_id(run_id) + 1):
        host_id = host_ids[request.host]
        records.append(children.url_record(children.NewRow(url_id, request), run_id, host_id, now))
        entries.append(QueueEntry(url_id, host_id, -request.priority, request.host))
    for start in range(0, len(records), ENTRY_BATCH):
        connection.executemany(children.SQL.add_url, records[start : start + ENTRY_BATCH])
    return entries


def _refuse_second(connection: Connection, name: str, task_id: int) -> None:
    """Raise `Conflict` if the task has an unfinished run."""
    active = row(connection, SQL.unfinished, (task_id,))
    if active is not None:
        raise Conflict(
            f"run {active[0]} of the task {name!r} is {active[1]}",
            hint="wait for its end, cancel it, or allow both: ?overlap=true, `run start --overlap`",
        )


def _pin(author: tasks.TaskWriter, plan: Plan, number: int | None) -> TaskVersion:
    """Return the named version of the plan's task, or the newest, which is created from the plan if it
    differs.
    """
    spec = TaskSpec(plan.name, plan.spec, plan.spec_hash)
    if number is None:
        task = author.apply(spec)
        return tasks.get_version(author.connection, task.id, task.version)
    version = tasks.get_version(author.connection, tasks.get(author.connection, plan.name).id, number)
    if not version.matches(spec):
        raise Conflict(
            f"version {number} of the task {plan.name!r} differs from the plan to run",
            hint="start it again: the task was changed at the same time",
        )
    return version


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
    connection: Connection, run_id: int, reason: str, now: float, *, also_leased: bool = False
) -> bool:
    """Close some thousand open rows as skipped. Return True while there are more.

    Leased rows are left to their workers, unless the run accepts no pages; their leases stay with the
    gates.
    """
    connection.execute(SQL.close_rest, (run_id, reason, now, also_leased))
    closed = connection.changes()
    connection.execute(SQL.count_skipped, (closed, run_id))
    if closed == 0:
        connection.frontier.drop(run_id)
    return closed > 0


def close_ended(connection: Connection, run_id: int, now: float) -> bool:
    """Close the open rows of an ended run, leased ones included. Return True while there are more.

    A run that was reopened meanwhile is left alone.
    """
    run = read_run(connection, run_id)
    return run.state in FINISHED and close_rest(connection, run_id, run.state, now, also_leased=True)


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
        *(SQL.delete_items, SQL.delete_attempts, SQL.delete_urls),
    ):
        connection.execute(sql, (low, high))
        if connection.changes():
            return True
    for sql in (SQL.delete_visits, SQL.delete_sends, SQL.delete_counts, SQL.delete_run):
        connection.execute(sql, (run_id,))
    return False


def _ending(connection: Connection, run: Run) -> tuple[RunState, str]:
    if run.state == "stopping":
        return "completed", run.reason
    fetched = row(connection, SQL.entry_fetched, (run.id,))
    if fetched and fetched[0]:
        return "completed", ""
    why = row(connection, SQL.entry_reason, (run.id,))
    if why is None:
        return "failed", "no entry URL was fetched"
    return "failed", f"no entry URL could be fetched: {without_userinfo(why[0])}: {why[1]}"
