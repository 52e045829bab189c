"""Starting tasks, and calls that act on the newest run of a task."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from smartspider.api.answers import answer, answers
from smartspider.api.desk import Desked
from smartspider.api.idempotency import once, once_retold
from smartspider.api.ids import TaskId
from smartspider.api.run_answers import (
    answers_begun,
    answers_retry,
    answers_run,
    show_begun,
    show_made,
    show_retry,
    show_run,
)
from smartspider.api.run_bodies import Retry, RetryBody, Start, StartBody
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.core.tuning import Tuning
from smartspider.services import control, runs
from smartspider.services.starting import Order, start_run
from smartspider.services.tasks import find_task
from smartspider.views.runs import MetricsView, StatusView

router = APIRouter(prefix="/api/tasks/{task_id}", tags=["runs"])

Reader = Annotated[Principal, needs("runs", "read")]
Writer = Annotated[Principal, needs("runs", "write")]
Overlap = Annotated[
    bool | None, Query(description="Start it also while another run of the task is not over.")
]


@router.post("/start", name="start_task", summary="Start a run of a task", **answers_begun())
@once_retold(show_made)
async def start_task(
    task_id: TaskId, desk: Desked, principal: Writer, body: Start = None, overlap: Overlap = None
) -> Response:
    """A new run of the newest version, or of the one named."""
    asked = body or StartBody()
    wants = overlap if asked.overlap is None else asked.overlap
    tuning = Tuning() if asked.tuning is None else asked.tuning.tuning()
    task = await find_task(desk.tasks, task_id)
    order = Order(version=asked.version, overlap=bool(wants), tuning=tuning)
    return await show_begun(desk, await start_run(desk, principal, task, order))


@router.post("/pause", name="pause_task", summary="Pause the newest run", **answers_run("The run"))
async def pause_task(task_id: TaskId, desk: Desked, principal: Writer) -> Response:
    """Hand out nothing more; what is in flight is still stored."""
    run = await desk.newest_run_to_act_on(await find_task(desk.tasks, task_id))
    return show_run(await control.pause(desk, principal, run.id))


@router.post("/resume", name="resume_task", summary="Resume the newest run", **answers_run("The run"))
async def resume_task(task_id: TaskId, desk: Desked, principal: Writer) -> Response:
    """Go on with a run that was paused or stopped."""
    run = await desk.newest_run_to_act_on(await find_task(desk.tasks, task_id))
    return show_run(await control.resume(desk, principal, run.id))


@router.post("/stop", name="stop_task", summary="Stop the newest run", **answers_run("The run"))
async def stop_task(task_id: TaskId, desk: Desked, principal: Writer) -> Response:
    """End it after what is in flight; it can be resumed."""
    run = await desk.newest_run_to_act_on(await find_task(desk.tasks, task_id))
    return show_run(await control.stop(desk, principal, run.id))


@router.post("/retry", name="retry_task", summary="Try the newest run again", **answers_retry())
@once
async def retry_task(task_id: TaskId, desk: Desked, principal: Writer, body: Retry = None) -> Response:
    """What failed once more in the same run, or everything in a new one."""
    run = await desk.newest_run_to_act_on(await find_task(desk.tasks, task_id))
    return show_retry(await control.retry(desk, principal, run.id, (body or RetryBody()).which))


@router.get(
    "/status",
    name="get_task_status",
    summary="How the newest run stands",
    **answers(StatusView, "The run; a task without one is `created`"),
)
async def get_task_status(task_id: TaskId, desk: Desked, _principal: Reader) -> Response:
    """Counters, speed and when it may be over."""
    return answer(await runs.task_status(desk, await find_task(desk.tasks, task_id)))


@router.get(
    "/metrics",
    name="get_task_metrics",
    summary="The newest run, host by host and worker by worker",
    **answers(MetricsView, "The run; a task without one is `created`"),
)
async def get_task_metrics(task_id: TaskId, desk: Desked, _principal: Reader) -> Response:
    """How it stands, the gates it waits at, who works on it, and its knobs."""
    return answer(await runs.task_metrics(desk, await find_task(desk.tasks, task_id)))
