"""Which run a call is about, and how runs stand."""

from __future__ import annotations

from smartspider.core.errors import NotFound
from smartspider.core.runs import Run
from smartspider.core.tasks import TaskRecord
from smartspider.interfaces.store import Store
from smartspider.services import run_views
from smartspider.services.desk import Desk
from smartspider.views.runs import MetricsView, ReceiptView, StatusView

HOSTS_SHOWN = 20


async def find_run(store: Store, run_id: int | None) -> Run:
    """The run given, or the newest one."""
    if run_id is not None:
        return await store.get_run(run_id)
    runs = await store.list_runs(limit=1)
    if not runs:
        raise NotFound("there is no run in this data folder yet", hint="`smartspider crawl TASK` makes one")
    return runs[0]


async def status(desk: Desk, run_id: int) -> StatusView:
    """How a run stands."""
    return run_views.status_view(await desk.insight.standing(run_id))


async def metrics(desk: Desk, run_id: int) -> MetricsView:
    """How a run stands, host by host, worker by worker and step by step."""
    situation = await desk.insight.situation(run_id, HOSTS_SHOWN)
    return run_views.metrics_view(situation, await desk.store.step_counts(run_id))


async def task_status(desk: Desk, task: TaskRecord) -> StatusView:
    """How the newest run of a task stands; a task without one is `created`."""
    run = await desk.newest_run(task)
    return run_views.status_without_run(task) if run is None else await status(desk, run.id)


async def task_metrics(desk: Desk, task: TaskRecord) -> MetricsView:
    """The same, host by host and worker by worker."""
    run = await desk.newest_run(task)
    return run_views.metrics_without_run(task) if run is None else await metrics(desk, run.id)


async def receipt(desk: Desk, run_id: int) -> ReceiptView:
    """How a run treated its hosts."""
    await desk.store.get_run(run_id)
    return run_views.receipt_view(run_id, await desk.store.receipt(run_id))
