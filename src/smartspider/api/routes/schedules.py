"""Schedules."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import HTTPConnection
from starlette.responses import Response

from smartspider.api.answers import LOCATION, answer, answers, answers_nothing, no_answer
from smartspider.api.house import house_of
from smartspider.api.idempotency import once
from smartspider.api.ids import Id
from smartspider.api.paging import Cursor, Limit
from smartspider.api.schedule_bodies import RuleBody, ScheduleBody, ScheduleChange
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.services import schedules
from smartspider.services.paging import number
from smartspider.services.tasks import find_task
from smartspider.services.timetable import Timetable
from smartspider.views.listed import Listed
from smartspider.views.schedules import Fired, FiringView, PreviewedTimes, ScheduleDetail, ScheduleView
from smartspider.wiring.timetable import timetable_of

router = APIRouter(prefix="/api/schedules", tags=["schedules"])

Reader = Annotated[Principal, needs("schedules", "read")]
Writer = Annotated[Principal, needs("schedules", "write")]
OfTask = Annotated[str | None, Query(max_length=200, description="Only those of a task, by its id or name.")]


async def _timetable(connection: HTTPConnection) -> Timetable:
    house = house_of(connection)
    return timetable_of(house.premises, house.settings)


Tabled = Annotated[Timetable, Depends(_timetable)]


@router.get(
    "", name="list_schedules", summary="Schedules, oldest first", **answers(Listed[ScheduleView], "A page")
)
async def list_schedules(
    table: Tabled, _principal: Reader, task_id: OfTask = None, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """All schedules, or those of one task."""
    task = None if task_id is None else await find_task(table.tasks, task_id)
    return answer(await schedules.find(table, task, cursor=cursor, limit=limit))


@router.post(
    "",
    name="create_schedule",
    summary="Run a task by itself",
    **answers(ScheduleDetail, "The schedule", status=201, **LOCATION),
)
@once
async def create_schedule(body: ScheduleBody, table: Tabled, principal: Writer) -> Response:
    """By cron, every so many seconds, or once."""
    task = await find_task(table.tasks, body.task_id)
    made = await schedules.create(table, principal, task, body.knobs(), is_enabled=body.enabled)
    return answer(made, 201, {"Location": f"/api/schedules/{made.id}"})


@router.post(
    "/preview",
    name="preview_schedule",
    summary="When a rule would be due",
    **answers(PreviewedTimes, "The next five times"),
)
async def preview_schedule(body: RuleBody, table: Tabled, _principal: Reader) -> Response:
    """Nothing is kept."""
    return answer(schedules.preview(table, body.knobs()))


@router.get(
    "/{schedule_id}", name="get_schedule", summary="A schedule", **answers(ScheduleDetail, "The schedule")
)
async def get_schedule(schedule_id: Id, table: Tabled, _principal: Reader) -> Response:
    """A schedule with the next five times it is due."""
    return answer(await schedules.show(table, number(schedule_id, "schedule")))


@router.patch(
    "/{schedule_id}",
    name="change_schedule",
    summary="Change a schedule, or switch it on or off",
    **answers(ScheduleDetail, "The schedule as it is now"),
)
async def change_schedule(
    schedule_id: Id, body: ScheduleChange, table: Tabled, principal: Writer
) -> Response:
    """What is not named stays. One that stands in its task can only be switched on and off here."""
    changed = await schedules.change(
        table, principal, number(schedule_id, "schedule"), body.knobs(), is_enabled=body.enabled
    )
    return answer(changed)


@router.delete(
    "/{schedule_id}",
    name="delete_schedule",
    summary="Delete a schedule",
    **answers_nothing("It is gone; the runs it started stay"),
)
async def delete_schedule(schedule_id: Id, table: Tabled, principal: Writer) -> Response:
    """Forget a schedule and its history."""
    await schedules.delete(table, principal, number(schedule_id, "schedule"))
    return no_answer()


@router.get(
    "/{schedule_id}/firings",
    name="list_firings",
    summary="What came of a schedule, newest first",
    **answers(Listed[FiringView], "A page"),
)
async def list_firings(
    schedule_id: Id, table: Tabled, _principal: Reader, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """Each time it was due: started, skipped, missed or failed, and why."""
    id_ = number(schedule_id, "schedule")
    return answer(await schedules.firings(table, id_, cursor=cursor, limit=limit))


@router.post(
    "/{schedule_id}/fire",
    name="fire_schedule",
    summary="Start a run of a schedule now",
    **answers(Fired, "The run", status=202, **LOCATION),
)
@once
async def fire_schedule(schedule_id: Id, table: Tabled, principal: Writer) -> Response:
    """A run beside its times, which stay as they are."""
    firing = await schedules.fire(table, principal, number(schedule_id, "schedule"))
    fired = Fired(str(firing.run_id), str(firing.schedule_id))
    return answer(fired, 202, {"Location": f"/api/runs/{firing.run_id}"})
