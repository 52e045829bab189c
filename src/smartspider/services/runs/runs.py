"""Runs: lists, status, metrics and requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from smartspider.core.errors import RequestInvalid, TooMany
from smartspider.core.runs.run import Run, RunState
from smartspider.core.tasks import TaskRecord
from smartspider.installation.installation import Installation
from smartspider.services import dedup
from smartspider.services.inputs import check_text, parse_cursor, to_page
from smartspider.services.runs import views
from smartspider.services.runs.blockers import NO_WORKER, find_blockers
from smartspider.services.runs.lookup import newest_run
from smartspider.store.diagnostics.progress import resting
from smartspider.store.runs.listing import PageFilter
from smartspider.views.listed import Listed
from smartspider.views.problem import Wrong
from smartspider.views.runs import (
    Begun,
    FailureView,
    MetricsView,
    PageView,
    ReceiptView,
    RunView,
    StatusView,
)

HOSTS_SHOWN = 20
LIVE = frozenset({"queued", "running", "stopping"})
NOT_OVER: tuple[RunState, ...] = ("queued", "running", "paused", "stopping")
MAX_LIVE = 100

BLOCKER_TIMEOUT_S = 2.0
"""Starting a run does not wait longer for a server that is unavailable."""

RunStatusT = TypeVar("RunStatusT", StatusView, MetricsView, Begun)


async def list_runs(
    installation: Installation,
    task: TaskRecord | None,
    states: Sequence[RunState],
    *,
    cursor: str | None,
    limit: int,
) -> Listed[RunView]:
    """List runs of a task or of all tasks, optionally in some states, newest first."""
    found = await installation.store.list_runs(
        task_id=None if task is None else task.id, states=states, before=parse_cursor(cursor), limit=limit + 1
    )
    lines = await run_lines(installation, found)
    return to_page(lines, limit, lambda run: run.id, lambda run: run)


async def run_lines(installation: Installation, found: Sequence[Run]) -> list[RunView]:
    """Return the views of runs in a list, with their speed."""
    moving = await installation.diagnostics.progress_of([run.id for run in found if run.state in LIVE])
    now = installation.clock.now()
    return [views.run_view(moving.get(run.id) or resting(run, now)) for run in found]


async def list_live_runs(installation: Installation) -> Listed[RunView]:
    """List runs that are queued, running, paused or stopping, newest first, up to `MAX_LIVE`."""
    found = await installation.store.list_runs(states=NOT_OVER, limit=MAX_LIVE)
    return Listed(await run_lines(installation, found), None)


async def list_failures(
    installation: Installation, run_id: int, *, cursor: str | None, limit: int
) -> Listed[FailureView]:
    """List requests that failed or could not be extracted, in the order they were found."""
    run = await installation.store.get_run(run_id)
    found = await installation.store.failures(run.id, limit + 1, after=parse_cursor(cursor) or 0)
    return to_page(found, limit, lambda failure: failure.id, views.failure_view)


async def list_pages(
    installation: Installation, run_id: int, only: PageFilter, *, cursor: str | None, limit: int
) -> Listed[PageView]:
    """List requests of a run that match, in the order they were found. A page may have fewer than `limit`
    although `next` names another.
    """
    run = await installation.store.get_run(run_id)
    for name in ("host", "page", "q"):
        check_text(name, getattr(only, name) or "")
    only = msgspec.structs.replace(only, host=only.host and only.host.lower())
    found = await installation.store.pages(run.id, only, after=parse_cursor(cursor) or 0, limit=limit)
    next_ = None if found.next is None else str(found.next)
    return Listed([views.page_view(row) for row in found.rows], next_)


async def get_status(installation: Installation, run_id: int) -> StatusView:
    """Return the status of a run."""
    progress = await installation.diagnostics.progress(run_id)
    left_out = await installation.diagnostics.left_out(run_id)
    distinct = await dedup.estimate_distinct(installation.filters, progress.run)
    view = views.status_view(progress, left_out, distinct)
    return await _with_reason(installation, view)


async def get_metrics(installation: Installation, run_id: int) -> MetricsView:
    """Return the status of a run with its hosts, workers and steps."""
    activity = await installation.diagnostics.activity(run_id, HOSTS_SHOWN)
    distinct = await dedup.estimate_distinct(installation.filters, activity.progress.run)
    left_out = await installation.diagnostics.left_out(run_id)
    view = views.metrics_view(activity, await installation.store.step_counts(run_id), left_out, distinct)
    return await _with_reason(installation, view)


async def _with_reason(installation: Installation, view: RunStatusT) -> RunStatusT:
    """Show an installation-wide blocker as the reason of a live run without one. Computed, never stored."""
    if view.reason or view.state not in LIVE:
        return view
    causes = await find_blockers(installation)
    return msgspec.structs.replace(view, reason=causes[0].what) if causes else view


async def _warnings(installation: Installation, run: Run, holder: str) -> list[Wrong]:
    """Return the warnings about a task; none if they cannot be had, because the run exists already."""
    try:
        return await installation.offload.run(views.spec_warnings, run.spec, holder=holder)
    except (TooMany, RequestInvalid):
        return []


async def get_begun(installation: Installation, run: Run, holder: str = "") -> Begun:
    """Return the view of a started run to a user; its reason names what blocks it, if that is known in
    time.
    """
    view = views.begun_view(run, await _warnings(installation, run, holder))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BLOCKER_TIMEOUT_S):
            view = await _with_reason(installation, view)
            if not view.reason and installation.is_cluster:
                alive = [
                    one for one in await installation.workers.find() if one.is_alive and not one.is_draining
                ]
                view = view if alive else msgspec.structs.replace(view, reason=NO_WORKER)
    return view


async def get_task_status(installation: Installation, task: TaskRecord) -> StatusView:
    """Return the status of the newest run of a task; without a run the state is `created`."""
    run = await newest_run(installation.store, task.id)
    return views.status_without_run(task) if run is None else await get_status(installation, run.id)


async def get_task_metrics(installation: Installation, task: TaskRecord) -> MetricsView:
    """Return the metrics of the newest run of a task."""
    run = await newest_run(installation.store, task.id)
    return views.metrics_without_run(task) if run is None else await get_metrics(installation, run.id)


async def get_receipt(installation: Installation, run_id: int) -> ReceiptView:
    """Return the politeness receipt of a run."""
    await installation.store.get_run(run_id)
    left_out = await installation.diagnostics.left_out(run_id)
    return views.receipt_view(run_id, await installation.store.receipt(run_id), left_out)
