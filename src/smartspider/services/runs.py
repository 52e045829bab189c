"""Which run a call is about, how runs stand, and what became of their requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from smartspider.core.runs import Run, RunState
from smartspider.core.tasks import TaskRecord
from smartspider.core.verdict import UrlState
from smartspider.services import known_urls, run_views
from smartspider.services.desk import Desk
from smartspider.services.paging import page_of, place_of
from smartspider.services.trouble import NO_WORKER, troubles
from smartspider.views.listed import Listed
from smartspider.views.runs import Begun, FailureView, MetricsView, PageView, ReceiptView, RunView, StatusView

HOSTS_SHOWN = 20
WORKED_ON = frozenset({"queued", "running", "stopping"})

SOON_S = 2.0
"""Who starts a run does not wait for a server that is away."""

Standing = TypeVar("Standing", StatusView, MetricsView, Begun)


async def list_runs(
    desk: Desk, task: TaskRecord | None, states: Sequence[RunState], *, cursor: str | None, limit: int
) -> Listed[RunView]:
    """Runs of a task or of all, in any state or one of these, newest first."""
    found = await desk.store.list_runs(
        task_id=None if task is None else task.id, states=states, before=place_of(cursor), limit=limit + 1
    )
    now = desk.clock.now()
    return page_of(found, limit, lambda run: run.id, lambda run: run_views.run_view(run, now))


async def failures(desk: Desk, run_id: int, *, cursor: str | None, limit: int) -> Listed[FailureView]:
    """Requests that were given up or could not be read, in the order they were found."""
    run = await desk.store.get_run(run_id)
    found = await desk.store.failures(run.id, limit + 1, after=place_of(cursor) or 0)
    return page_of(found, limit, lambda failure: failure.id, run_views.failure_view)


async def pages(
    desk: Desk, run_id: int, state: UrlState | None, *, cursor: str | None, limit: int
) -> Listed[PageView]:
    """Every request the run knows, or those in a state, in the order they were found."""
    run = await desk.store.get_run(run_id)
    found = await desk.store.pages(run.id, state=state, after=place_of(cursor) or 0, limit=limit + 1)
    return page_of(found, limit, lambda page: page.id, run_views.page_view)


async def status(desk: Desk, run_id: int) -> StatusView:
    """How a run stands."""
    standing = await desk.insight.standing(run_id)
    view = run_views.status_view(standing, await known_urls.distinct(desk.layers, standing.run))
    return await _with_reason(desk, view)


async def metrics(desk: Desk, run_id: int) -> MetricsView:
    """How a run stands, host by host, worker by worker and step by step."""
    situation = await desk.insight.situation(run_id, HOSTS_SHOWN)
    distinct = await known_urls.distinct(desk.layers, situation.standing.run)
    view = run_views.metrics_view(situation, await desk.store.step_counts(run_id), distinct)
    return await _with_reason(desk, view)


async def _with_reason(desk: Desk, view: Standing) -> Standing:
    """What stops all runs is the reason of a live one that has none of its own: nobody can write it down."""
    if view.reason or view.state not in WORKED_ON:
        return view
    causes = await troubles(desk.footing)
    return msgspec.structs.replace(view, reason=causes[0].what) if causes else view


async def begun(desk: Desk, run: Run) -> Begun:
    """A run that was started; its reason says what keeps it from moving on a cluster, if known soon."""
    view = run_views.begun(run)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SOON_S):
            view = await _with_reason(desk, view)
            if not view.reason and desk.footing is not None and desk.footing.cluster is not None:
                alive = [one for one in await desk.workers.find() if one.is_alive and not one.is_draining]
                view = view if alive else msgspec.structs.replace(view, reason=NO_WORKER)
    return view


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
