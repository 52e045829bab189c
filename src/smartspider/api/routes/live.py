"""Runs as they go on: every event once, by WebSocket or server-sent events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Header, Query, WebSocket
from starlette.requests import HTTPConnection
from starlette.responses import Response

from smartspider.api.desk import Desked
from smartspider.api.house import house_of
from smartspider.api.ids import RunId, TaskId
from smartspider.api.security import needs, ws_principal
from smartspider.api.streams import (
    NUMBER,
    After,
    answers_events,
    as_events,
    messages,
    number_after,
    over_websocket,
)
from smartspider.core.access import Principal
from smartspider.services import runs
from smartspider.services.desk import Desk
from smartspider.services.following import Ground, Wanted, follow_run, follow_task
from smartspider.services.paging import number
from smartspider.services.tasks import find_task
from smartspider.views.runs import StatusView

router = APIRouter(tags=["runs"])

Follow = Annotated[bool, Query(include_in_schema=False)]
"""Told in words: a program that tries all parameters of the document would wait for ever."""
Snapshot = Annotated[
    bool, Query(description="Begin with how the run stands (`run.status`) instead of with all that happened.")
]


@router.get(
    "/api/runs/{run_id}/events",
    name="follow_run",
    summary="The events of a run as they happen",
    **answers_events("Server-sent events; `data` is a JSON message `{id, run_id, at, event, data}`"),
)
async def get_events(
    run_id: RunId,
    connection: HTTPConnection,
    desk: Desked,
    _principal: Annotated[Principal, needs("runs", "read")],
    *,
    after: After = None,
    follow: Follow = False,
    snapshot: Snapshot = False,
    last_event_id: Annotated[str | None, Header(pattern=NUMBER, description="As `after`.")] = None,
) -> Response:
    """All events of the run, those that were and those that come, numbered 1, 2, 3, ... without a gap.

    The same address answers a WebSocket with the same messages. A message `stream.end` comes when the run is
    over, unless `follow=true` is given: it may be resumed. `stream.reset` says that events before `first` are
    not kept any more.
    """
    known = number_after(last_event_id, "Last-Event-ID")
    known = number_after(after) if known is None else known
    wanted = _wanted(desk, known, follow=follow, snapshot=snapshot)
    run = await desk.store.get_run(number(run_id, "run"))
    return as_events(follow_run(_ground(connection), run.id, wanted))


@router.websocket("/api/runs/{run_id}/events")
async def watch_run(
    websocket: WebSocket,
    run_id: str,
    desk: Desked,
    *,
    after: str | None = None,
    follow: str = "",
    snapshot: str = "",
) -> None:
    """The same over a WebSocket; it is closed with 1000 when the run is over."""
    await ws_principal(websocket, "runs")
    wanted = _wanted(desk, number_after(after), follow=_is_yes(follow), snapshot=_is_yes(snapshot))
    run = await desk.store.get_run(number(run_id, "run"))
    await over_websocket(websocket, messages(follow_run(_ground(websocket), run.id, wanted)))


@router.websocket("/api/tasks/{task_id}/ws")
async def watch_task(
    websocket: WebSocket,
    task_id: TaskId,
    desk: Desked,
    *,
    run_id: str | None = None,
    after: str | None = None,
    follow: str = "true",
    snapshot: str = "",
) -> None:
    """The events of the newest run of a task, or of `run_id`, and then of the runs that come after it."""
    await ws_principal(websocket, "runs")
    wanted = _wanted(desk, number_after(after), follow=_is_yes(follow), snapshot=_is_yes(snapshot))
    task = await find_task(desk.tasks, task_id)
    run = None if run_id is None else number(run_id, "run")
    if run is not None:
        await desk.store.get_run(run)
    await over_websocket(websocket, messages(follow_task(_ground(websocket), task.id, wanted, run)))


def _ground(connection: HTTPConnection) -> Ground:
    house = house_of(connection)
    house.hub.check_room()
    return Ground(house.premises.store, house.premises.events, house.hub, house.premises.clock)


def _wanted(desk: Desk, after: int | None, *, follow: bool, snapshot: bool) -> Wanted:
    has_snapshot = snapshot and after is None
    return Wanted(after or 0, is_endless=follow, snapshot=_status(desk) if has_snapshot else None)


def _status(desk: Desk) -> Callable[[int], Awaitable[StatusView]]:
    return lambda run_id: runs.status(desk, run_id)


def _is_yes(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "on")
