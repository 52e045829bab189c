"""Facts about an installation that a person should look at. Every read is bounded."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.core.datetimes import format_time
from smartspider.core.plurals import count
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.runs.run import Run
from smartspider.installation.installation import Installation
from smartspider.services.notifications.messages import COMPARED, usual_items
from smartspider.services.runs.blockers import find_blockers
from smartspider.services.runs.stall import explain_stall
from smartspider.views.nodes import NodeView
from smartspider.views.runs import RunView
from smartspider.views.server import Action, Attention, AttentionKind

RECENT_S = 86_400.0
"""Ended runs, missed firings and failed notifications older than a day are history."""
RUNS_READ = 30
HOSTS_SHOWN = 10
NOTIFICATIONS_READ = 30
STALLED_S = 30.0
"""A run without a page for this long is examined."""
MAX_SHOWN = 50


async def find(
    installation: Installation, active: Sequence[RunView], nodes: Sequence[NodeView]
) -> list[Attention]:
    """Return what needs a person, the most harmful first."""
    since = installation.clock.now() - RECENT_S
    found = [
        *await _blockers(installation),
        *await _ended_runs(installation, since),
        *await _stalled_runs(installation, active),
        *await _held_hosts(installation),
        *_silent_workers(nodes),
        *await _missed_firings(installation, since),
        *await _failed_notifications(installation, since),
    ]
    return found[:MAX_SHOWN]


async def _blockers(installation: Installation) -> list[Attention]:
    return [
        Attention("installation_blocked", "installation", "", "", f"{cause.what}; {cause.advice}", None, [])
        for cause in await find_blockers(installation)
    ]


async def _ended_runs(installation: Installation, since: float) -> list[Attention]:
    """Return the newest runs of tasks that failed, paused by themselves, lost requests or have few rows."""
    store = installation.store
    failed = await store.list_runs(states=("failed", "paused"), limit=RUNS_READ)
    completed = await store.list_runs(states=("completed",), limit=RUNS_READ)
    completed = [run for run in completed if (run.finished_at or 0.0) >= since]
    failed = [run for run in failed if run.state == "paused" or (run.finished_at or 0.0) >= since]
    history = await store.recent_runs([run.task_id for run in (*failed, *completed)], COMPARED + 1)
    newest = {task_id: runs[0].id for task_id, runs in history.items() if runs}
    found = []
    for run in (*failed, *completed):
        if newest.get(run.task_id) != run.id:
            continue
        earlier = [one.items for one in history[run.task_id][1:] if one.state == "completed"]
        attention = _about_run(run, usual_items(run.counters.items, earlier))
        if attention is not None:
            found.append(attention)
    return found


def _about_run(run: Run, usual: float | None) -> Attention | None:
    """Return what is wrong with an ended or paused run; `usual` is its usual number of rows if it has far
    fewer.
    """
    reason = without_userinfo(run.reason)
    if run.state == "failed":
        return _of_run("run_failed", run, reason or "the run failed", "see_problems", "retry_run")
    if run.state == "paused":
        if not reason.startswith("guard:"):
            return None  # a person paused it
        return _of_run("run_paused", run, f"paused by a {reason}", "see_problems", "resume_run")
    if run.counters.failed:
        what = f"{count(run.counters.failed, 'request')} failed"
        return _of_run("run_incomplete", run, what, "see_problems", "retry_run")
    if usual is not None:
        what = f"{count(run.counters.items, 'row')}; usually there are {usual:g}"
        return _of_run("few_rows", run, what, "see_problems", "see_results")
    return None


def _of_run(kind: AttentionKind, run: Run, what: str, *actions: Action) -> Attention:
    at = format_time(run.finished_at)
    return Attention(kind, "run", str(run.id), run.task_name, what, at, list(actions))


async def _stalled_runs(installation: Installation, active: Sequence[RunView]) -> list[Attention]:
    found = []
    for run in active:
        if run.run_id is None or run.pages_per_s > 0.0 or run.duration_s < STALLED_S:
            continue
        stall = await explain_stall(installation, int(run.run_id))
        if not stall.moving and stall.causes:
            what = f"{stall.causes[0].what}; {stall.causes[0].advice}"
            found.append(Attention("run_stalled", "run", run.run_id, run.task, what, None, ["see_stall"]))
    return found


async def _held_hosts(installation: Installation) -> list[Attention]:
    now = installation.hosts.now()
    return [
        Attention(
            *("host_held", "host", host.host, host.host),
            text=f"held until {format_time(host.held_until)}: {without_userinfo(host.hold_reason)}",
            since=None,
            actions=["resume_host"],
        )
        for host in await installation.hosts.find(is_held=True, limit=HOSTS_SHOWN)
        if host.runs and host.held_until > now
    ]


def _silent_workers(nodes: Sequence[NodeView]) -> list[Attention]:
    return [
        Attention(
            *("worker_silent", "node", node.node, node.node),
            text=f"{count(len(silent), 'worker')} of {len(node.workers)} without a sign of life",
            since=min(silent),
            actions=["drain_worker"],
        )
        for node in nodes
        if (silent := [worker.seen_at for worker in node.workers if worker.state == "silent"])
    ]


async def _missed_firings(installation: Installation, since: float) -> list[Attention]:
    found = []
    for firing in await installation.schedules.troubled(since):
        schedule = await installation.schedules.get(firing.schedule_id)
        task = await installation.tasks.get(schedule.task_id)
        what = f"{firing.outcome} at {format_time(firing.fire_at)}: {firing.reason}"
        at = format_time(firing.at)
        found.append(Attention("schedule_missed", "schedule", str(schedule.id), task.name, what, at, []))
    return found


async def _failed_notifications(installation: Installation, since: float) -> list[Attention]:
    return [
        Attention(
            *("notification_failed", "notification", str(one.target_id), one.name),
            text=f"not delivered: {without_userinfo(one.error)}",
            since=format_time(one.ended_at),
            actions=[],
        )
        for one in await installation.notifications.find(limit=NOTIFICATIONS_READ)
        if one.error and one.ended_at is not None and one.ended_at >= since
    ]
