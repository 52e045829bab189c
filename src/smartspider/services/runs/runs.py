"""Which run a call is about, how runs stand, and what became of their requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from smartspider.core.frontier.verdict import UrlState
from smartspider.core.runs.run import Run, RunState
from smartspider.core.tasks import TaskRecord
from smartspider.installation.installation import Installation
from smartspider.services import dedup
from smartspider.services.inputs import page_of, place_of
from smartspider.services.runs import views
from smartspider.services.runs.blockers import NO_WORKER, find_blockers
from smartspider.services.runs.lookup import newest_run
from smartspider.views.listed import Listed
from smartspider.views.runs import Begun, FailureView, MetricsView, PageView, ReceiptView, RunView, StatusView

HOSTS_SHOWN = 20
WORKED_ON = frozenset({"queued", "running", "stopping"})

SOON_S = 2.0
"""Who starts a run does not wait for a server that is away."""

Standing = TypeVar("Standing", StatusView, MetricsView, Begun)


async def list_runs(
    installation: Installation,
    task: TaskRecord | None,
    states: Sequence[RunState],
    *,
    cursor: str | None,
    limit: int,
) -> Listed[RunView]:
    """Runs of a task or of all, in any state or one of these, newest first."""
    found = await installation.store.list_runs(
        task_id=None if task is None else task.id, states=states, before=place_of(cursor), limit=limit + 1
    )
    now = installation.clock.now()
    return page_of(found, limit, lambda run: run.id, lambda run: views.run_view(run, now))


async def failures(
    installation: Installation, run_id: int, *, cursor: str | None, limit: int
) -> Listed[FailureView]:
    """Requests that were given up or could not be read, in the order they were found."""
    run = await installation.store.get_run(run_id)
    found = await installation.store.failures(run.id, limit + 1, after=place_of(cursor) or 0)
    return page_of(found, limit, lambda failure: failure.id, views.failure_view)


async def pages(
    installation: Installation, run_id: int, state: UrlState | None, *, cursor: str | None, limit: int
) -> Listed[PageView]:
    """Every request the run knows, or those in a state, in the order they were found."""
    run = await installation.store.get_run(run_id)
    found = await installation.store.pages(run.id, state=state, after=place_of(cursor) or 0, limit=limit + 1)
    return page_of(found, limit, lambda page: page.id, views.page_view)


async def status(installation: Installation, run_id: int) -> StatusView:
    """How a run stands."""
    standing = await installation.diagnostics.progress(run_id)
    view = views.status_view(standing, await dedup.estimate_distinct(installation.filters, standing.run))
    return await _with_reason(installation, view)


async def metrics(installation: Installation, run_id: int) -> MetricsView:
    """How a run stands, host by host, worker by worker and step by step."""
    situation = await installation.diagnostics.activity(run_id, HOSTS_SHOWN)
    distinct = await dedup.estimate_distinct(installation.filters, situation.progress.run)
    view = views.metrics_view(situation, await installation.store.step_counts(run_id), distinct)
    return await _with_reason(installation, view)


async def _with_reason(installation: Installation, view: Standing) -> Standing:
    """What stops all runs is the reason of a live one that has none of its own: nobody can write it down."""
    if view.reason or view.state not in WORKED_ON:
        return view
    causes = await find_blockers(installation)
    return msgspec.structs.replace(view, reason=causes[0].what) if causes else view


async def begun(installation: Installation, run: Run) -> Begun:
    """A run that was started; its reason says what keeps it from moving on a cluster, if known soon."""
    view = views.begun(run)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SOON_S):
            view = await _with_reason(installation, view)
            if not view.reason and installation.is_cluster:
                alive = [
                    one for one in await installation.workers.find() if one.is_alive and not one.is_draining
                ]
                view = view if alive else msgspec.structs.replace(view, reason=NO_WORKER)
    return view


async def task_status(installation: Installation, task: TaskRecord) -> StatusView:
    """How the newest run of a task stands; a task without one is `created`."""
    run = await newest_run(installation.store, task.id)
    return views.status_without_run(task) if run is None else await status(installation, run.id)


async def task_metrics(installation: Installation, task: TaskRecord) -> MetricsView:
    """The same, host by host and worker by worker."""
    run = await newest_run(installation.store, task.id)
    return views.metrics_without_run(task) if run is None else await metrics(installation, run.id)


async def receipt(installation: Installation, run_id: int) -> ReceiptView:
    """How a run treated its hosts."""
    await installation.store.get_run(run_id)
    return views.receipt_view(run_id, await installation.store.receipt(run_id))
