"""The overview of an installation: what runs, what needs a person, what comes next. Every read is bounded."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.core.datetimes import format_time
from smartspider.core.tasks import TaskRecord
from smartspider.installation.installation import Installation
from smartspider.services import attention
from smartspider.services.nodes import list_nodes
from smartspider.services.runs.runs import run_lines
from smartspider.services.tasks.views import task_lines
from smartspider.views.nodes import NodeView
from smartspider.views.server import DueSchedule, NodeLoad, OverviewView

ACTIVE_SHOWN = 20
TASKS_SHOWN = 20
RUNS_READ = 60
"""Newest runs among which the tasks that are shown are found."""
FIRINGS_SHOWN = 5


async def get_overview(installation: Installation) -> OverviewView:
    """Return the state of an installation at a glance."""
    store = installation.store
    found = await store.list_runs(states=("running", "stopping", "queued"), limit=ACTIVE_SHOWN)
    active = await run_lines(installation, found)
    nodes = await list_nodes(installation)
    return OverviewView(
        runs=await store.count_unfinished(),
        active=active,
        pages_per_s=round(sum((run.pages_per_s for run in active), 0.0), 3),
        attention=await attention.find(installation, active, nodes),
        tasks=await task_lines(installation, await _newest_tasks(installation)),
        nodes=[_load(node) for node in nodes if node.workers],
        next_firings=await _next_firings(installation),
    )


async def _newest_tasks(installation: Installation) -> list[TaskRecord]:
    """Return the tasks of the newest runs, then the newest tasks."""
    runs = await installation.store.list_runs(limit=RUNS_READ)
    ids = list(dict.fromkeys(run.task_id for run in runs))[:TASKS_SHOWN]
    tasks = [task for task_id in ids if not (task := await installation.tasks.get(task_id)).is_deleted]
    if not tasks:
        tasks = await installation.tasks.find(limit=TASKS_SHOWN)
    return tasks


def _load(node: NodeView) -> NodeLoad:
    silent = sum(worker.state == "silent" for worker in node.workers)
    return NodeLoad(node.node, len(node.workers), silent, node.slots, node.used)


async def _next_firings(installation: Installation) -> list[DueSchedule]:
    due = await installation.schedules.next_due(limit=FIRINGS_SHOWN)
    names = await _task_names(installation, [one.task_id for one in due])
    return [
        DueSchedule(str(one.id), str(one.task_id), names[one.task_id], format_time(one.next_fire_at))
        for one in due
        if one.next_fire_at is not None
    ]


async def _task_names(installation: Installation, ids: Sequence[int]) -> dict[int, str]:
    return {one: (await installation.tasks.get(one)).name for one in dict.fromkeys(ids)}
