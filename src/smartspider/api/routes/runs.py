"""Runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from smartspider.api.answers import answer, answers, answers_nothing, no_answer
from smartspider.api.desk import Desked
from smartspider.api.house import Housed
from smartspider.api.idempotency import once
from smartspider.api.ids import RunId
from smartspider.api.paging import Cursor, Limit
from smartspider.api.run_answers import answers_retry, answers_run, show_retry, show_run
from smartspider.api.run_bodies import Retry, RetryBody
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.core.runs import RunState
from smartspider.core.verdict import UrlState
from smartspider.services import control, knobs, runs, stall
from smartspider.services.paging import number
from smartspider.services.tasks import find_task
from smartspider.taskfile.tuning import Knobs
from smartspider.views.listed import Listed
from smartspider.views.runs import (
    FailureView,
    MetricsView,
    PageView,
    ReceiptView,
    RunView,
    StallView,
    StatusView,
    TunedView,
)
from smartspider.wiring.deleting import delete_run_of_server

router = APIRouter(prefix="/api/runs", tags=["runs"])

Reader = Annotated[Principal, needs("runs", "read")]
Writer = Annotated[Principal, needs("runs", "write")]


@router.get("", name="list_runs", summary="Runs, newest first", **answers(Listed[RunView], "A page of runs"))
async def list_runs(
    desk: Desked,
    _principal: Reader,
    task_id: Annotated[str | None, Query(max_length=200, description="Of this task: its id or name.")] = None,
    state: Annotated[list[RunState] | None, Query(description="In one of these states.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Runs of all tasks or of one."""
    task = None if task_id is None else await find_task(desk.tasks, task_id, or_deleted=True)
    return answer(await runs.list_runs(desk, task, state or (), cursor=cursor, limit=limit))


@router.get("/{run_id}", name="get_run", summary="A run as it stands", **answers(StatusView, "The run"))
async def get_run(run_id: RunId, desk: Desked, _principal: Reader) -> Response:
    """Its counters, how fast it is, and when it may be over."""
    return answer(await runs.status(desk, number(run_id, "run")))


@router.patch(
    "/{run_id}", name="tune_run", summary="Turn knobs of a run", **answers(TunedView, "What it replaced")
)
async def tune_run(run_id: RunId, body: Knobs, desk: Desked, principal: Writer) -> Response:
    """Concurrency, delay, rate, requests per host, priority and limits, while the run works."""
    return answer(await knobs.tune(desk, principal, number(run_id, "run"), body.tuning()))


@router.delete("/{run_id}", name="delete_run", summary="Delete a run", **answers_nothing("It is gone"))
async def delete_run(run_id: RunId, house: Housed, desk: Desked, principal: Writer) -> Response:
    """With its rows, items and logs. Not while workers are at it, unless it is cancelled."""
    await delete_run_of_server(house.premises, desk, principal, number(run_id, "run"))
    return no_answer()


@router.post("/{run_id}/pause", name="pause_run", summary="Pause a run", **answers_run("The run"))
async def pause_run(run_id: RunId, desk: Desked, principal: Writer) -> Response:
    """Hand out nothing more; what is in flight is still stored."""
    return show_run(await control.pause(desk, principal, number(run_id, "run")))


@router.post("/{run_id}/resume", name="resume_run", summary="Resume a run", **answers_run("The run"))
async def resume_run(run_id: RunId, desk: Desked, principal: Writer) -> Response:
    """Go on with a run that was paused or stopped."""
    return show_run(await control.resume(desk, principal, number(run_id, "run")))


@router.post("/{run_id}/stop", name="stop_run", summary="Stop a run", **answers_run("The run"))
async def stop_run(run_id: RunId, desk: Desked, principal: Writer) -> Response:
    """End it after what is in flight; it can be resumed."""
    return show_run(await control.stop(desk, principal, number(run_id, "run")))


@router.post("/{run_id}/cancel", name="cancel_run", summary="Cancel a run", **answers_run("The run"))
async def cancel_run(run_id: RunId, desk: Desked, principal: Writer) -> Response:
    """End it for good."""
    return show_run(await control.cancel(desk, principal, number(run_id, "run")))


@router.post("/{run_id}/retry", name="retry_run", summary="Try a run again", **answers_retry())
@once
async def retry_run(run_id: RunId, desk: Desked, principal: Writer, body: Retry = None) -> Response:
    """What failed once more in the same run, or everything in a new one."""
    which = (body or RetryBody()).which
    return show_retry(await control.retry(desk, principal, number(run_id, "run"), which))


@router.get(
    "/{run_id}/metrics",
    name="get_run_metrics",
    summary="A run, host by host and worker by worker",
    **answers(MetricsView, "The run"),
)
async def get_run_metrics(run_id: RunId, desk: Desked, _principal: Reader) -> Response:
    """How it stands, the gates it waits at, who works on it, and its knobs."""
    return answer(await runs.metrics(desk, number(run_id, "run")))


@router.get(
    "/{run_id}/explain-stall",
    name="explain_stall",
    summary="Why a run does not move",
    tags=["explain"],
    **answers(StallView, "What holds it back, and what to do"),
)
async def explain_stall(run_id: RunId, desk: Desked, _principal: Reader) -> Response:
    """State, workers, limits, gates and retries: what holds the run back, or that it moves."""
    return answer(await stall.explain_stall(desk, number(run_id, "run")))


@router.get(
    "/{run_id}/failures",
    name="list_run_failures",
    summary="Requests that failed",
    **answers(Listed[FailureView], "A page of them"),
)
async def list_run_failures(
    run_id: RunId, desk: Desked, _principal: Reader, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """Requests that were given up or could not be read, in the order they were found."""
    return answer(await runs.failures(desk, number(run_id, "run"), cursor=cursor, limit=limit))


@router.get(
    "/{run_id}/pages",
    name="list_run_pages",
    summary="Requests of a run",
    **answers(Listed[PageView], "A page of them"),
)
async def list_run_pages(
    run_id: RunId,
    desk: Desked,
    _principal: Reader,
    state: Annotated[UrlState | None, Query(description="In this state.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Every request the run knows, in the order they were found."""
    return answer(await runs.pages(desk, number(run_id, "run"), state, cursor=cursor, limit=limit))


@router.get(
    "/{run_id}/receipt",
    name="get_run_receipt",
    summary="How a run treated its hosts",
    **answers(ReceiptView, "The politeness receipt"),
)
async def get_run_receipt(run_id: RunId, desk: Desked, _principal: Reader) -> Response:
    """Requests, rates, smallest gaps, refusals and violations, host by host."""
    return answer(await runs.receipt(desk, number(run_id, "run")))
