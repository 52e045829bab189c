"""Creating runs with their entries. All functions run inside a transaction."""

from __future__ import annotations

from smartspider.core import failpoints
from smartspider.core.errors import Conflict, NotAllowed
from smartspider.core.requests.politeness import shared_delay_s
from smartspider.core.requests.request import Request
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import SECRET, VAULT, encode_capabilities, first_id
from smartspider.core.tasks import TaskSpec, TaskVersion
from smartspider.store import audit, events, statements, tasks, vault
from smartspider.store.database import Connection, row, rows
from smartspider.store.frontier_updates import QueueEntry
from smartspider.store.hosts import gates
from smartspider.store.runs.tuning import encode_knobs
from smartspider.store.settle import children, recrawl
from smartspider.store.settle.run import encode_policies

SQL = statements.load("runs.sql", __package__)

ENTRY_BATCH = 5000
"""Entries written per statement."""


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
    distinct = list({request.fingerprint: request for request in reversed(plan.entries)}.values())[::-1]
    polite, limits, guards = plan.politeness, plan.limits, plan.guards
    pinned = _pin(tasks.TaskWriter(connection, now, actor), plan, version)
    if is_only:
        _refuse_second(connection, plan.name, pinned.task_id)
    connection.advance_run_ids()
    ((run_id,),) = rows(
        connection,
        SQL.add_run,
        (
            *(pinned.task_id, pinned.number),
            *(plan.name, plan.spec_hash, now, plan.weight, plan.concurrency),
            *(polite.spacing_s, shared_delay_s(polite.spacing_s)),
            *(polite.per_host, polite.per_domain, polite.adaptive, limits.max_pages, limits.max_items),
            *(limits.max_duration_s, limits.max_errors, plan.traps.max_urls_per_host),
            *(guards.consecutive_failures, guards.failure_rate, guards.failure_rate_after, guards.pauses),
            *(
                encode_policies(plan),
                encode_knobs(plan),
                started_by or actor,
                encode_capabilities(_needs(connection, plan)),
            ),
        ),
    )
    entries = _add_entries(connection, run_id, plan, distinct, now)
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


def _add_entries(
    connection: Connection, run_id: int, plan: Plan, distinct: list[Request], now: float
) -> list[QueueEntry]:
    """Add the entries as open rows. Return their queue entries."""
    memory = recrawl.open_memory(connection, run_id, plan, now)
    if memory is not None:
        distinct = [request for request, _ in memory.filter_due([(request, True) for request in distinct])]
    hosts = [request.host for request in distinct]
    host_ids = gates.find_hosts(connection, hosts)
    entries = [
        QueueEntry(url_id, host_ids[host], -request.priority, host)
        for url_id, (request, host) in enumerate(zip(distinct, hosts, strict=True), first_id(run_id) + 1)
    ]
    for start in range(0, len(entries), ENTRY_BATCH):
        batch = slice(start, start + ENTRY_BATCH)
        records = [
            children.url_record(children.NewRow(entry.url_id, request), run_id, entry.host_id, now)
            for entry, request in zip(entries[batch], distinct[batch], strict=True)
        ]
        connection.executemany(children.SQL.add_url, records)
    return entries


def _needs(connection: Connection, plan: Plan) -> set[str]:
    """Return the capabilities that workers need: for secrets of the vault, its key is enough."""
    return {
        VAULT if need.startswith(SECRET) and vault.knows(connection, need.removeprefix(SECRET)) else need
        for need in plan.needs
    }


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
