"""Log lines: found again, and followed as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, WebSocket
from starlette.responses import Response

from smartspider.api.answers import answer, answers
from smartspider.api.desk import Desked
from smartspider.api.house import Housed
from smartspider.api.ids import RunId, TaskId
from smartspider.api.paging import Cursor, Limit
from smartspider.api.security import needs, ws_principal
from smartspider.api.streams import number_after, over_websocket
from smartspider.core.access import Principal
from smartspider.core.logs import LEVELS
from smartspider.interfaces.log_store import LogFilter
from smartspider.services import logs
from smartspider.services.logs import LogQuestion
from smartspider.services.paging import number
from smartspider.services.tasks import find_task
from smartspider.views.listed import Listed
from smartspider.views.logs import LogView
from smartspider.wiring.house import House

router = APIRouter(tags=["logs"])

Reader = Annotated[Principal, needs("logs", "read")]
_LONG = 200

Level = Annotated[str | None, Query(max_length=20, description=f"At least this: {', '.join(LEVELS)}.")]
Moment = Annotated[str | None, Query(max_length=40, description="ISO 8601, or seconds since 1970.")]
Host = Annotated[str | None, Query(max_length=_LONG, description="Of this host.")]
Error = Annotated[str | None, Query(max_length=_LONG, description="With this type of error: `timeout`.")]
Worker = Annotated[str | None, Query(max_length=_LONG, description="Of this worker or process.")]
Text = Annotated[
    str | None, Query(max_length=500, description="With all of these words in the text or the URL.")
]

EXAMPLE = {
    "items": [
        {
            "id": "4711",
            "at": "2026-01-31T12:00:00.000Z",
            "level": "warning",
            "event": "fetch.retried",
            "text": "timeout; attempt 1 failed, the next is in 2.0 s or later",
            "worker": "worker 0",
            "task_id": "1",
            "run_id": "7",
            "host": "shop.example",
            "url": "https://shop.example/p/15",
            "error": "timeout",
            "fields": {"attempts": 1, "delay_s": 2.0},
        }
    ],
    "next": "4711",
}


OfTask = Annotated[str | None, Query(max_length=200, description="Of this task: its id or name.")]
OfRun = Annotated[str | None, Query(max_length=40, description="Of this run.")]


def _question(
    *,
    level: Level = None,
    since: Moment = None,
    until: Moment = None,
    host: Host = None,
    error: Error = None,
    worker: Worker = None,
    text: Text = None,
) -> LogQuestion:
    return LogQuestion(
        level=level, since=since, until=until, host=host, error=error, worker=worker, text=text
    )


Asked = Annotated[LogQuestion, Depends(_question)]


@router.get(
    "/api/logs",
    name="list_logs",
    summary="Log lines, newest first",
    **answers(Listed[LogView], "A page of lines; it may be short although there are more", example=EXAMPLE),
)
async def list_logs(
    house: Housed,
    asked: Asked,
    _principal: Reader,
    *,
    task_id: OfTask = None,
    run_id: OfRun = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Lines of everything, or of what is asked for: all that is given must hold."""
    return await _page(house, msgspec.structs.replace(asked, task_id=task_id, run_id=run_id), limit, cursor)


@router.get(
    "/api/runs/{run_id}/logs",
    name="list_run_logs",
    summary="Log lines of a run, newest first",
    **answers(Listed[LogView], "A page of lines; it may be short although there are more", example=EXAMPLE),
)
async def list_run_logs(
    run_id: RunId,
    house: Housed,
    asked: Asked,
    _principal: Reader,
    *,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """What the workers said about the run."""
    await house.premises.store.get_run(number(run_id, "run"))
    return await _page(house, msgspec.structs.replace(asked, run_id=run_id), limit, cursor)


@router.get(
    "/api/tasks/{task_id}/logs",
    name="list_task_logs",
    summary="Log lines of the newest run of a task, newest first",
    **answers(Listed[LogView], "A page of lines; it may be short although there are more", example=EXAMPLE),
)
async def list_task_logs(
    task_id: TaskId,
    house: Housed,
    desk: Desked,
    asked: Asked,
    _principal: Reader,
    *,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Those of all runs of a task are at `/api/logs?task_id=`."""
    task = await find_task(desk.tasks, task_id, or_deleted=True)
    run = await desk.newest_run(task)
    if run is None:
        return answer(Listed[LogView]([], None))
    return await _page(house, msgspec.structs.replace(asked, run_id=str(run.id)), limit, cursor)


async def _page(house: House, asked: LogQuestion, limit: int, cursor: str | None) -> Response:
    only = await logs.filter_of(house.premises.tasks, asked)
    return answer(await logs.search(house.premises.logs, only, cursor=cursor, limit=limit))


@router.websocket("/api/logs/tail")
async def tail_logs(
    websocket: WebSocket,
    house: Housed,
    asked: Asked,
    *,
    task_id: str | None = None,
    run_id: str | None = None,
    after: str | None = None,
) -> None:
    """Lines as they come; with `after` those that came since, too."""
    await ws_principal(websocket, "logs")
    await _follow(websocket, house, msgspec.structs.replace(asked, task_id=task_id, run_id=run_id), after)


@router.websocket("/api/runs/{run_id}/logs/tail")
async def tail_run_logs(
    websocket: WebSocket, run_id: str, house: Housed, asked: Asked, after: str | None = None
) -> None:
    """Lines of a run as they come."""
    await ws_principal(websocket, "logs")
    await house.premises.store.get_run(number(run_id, "run"))
    await _follow(websocket, house, msgspec.structs.replace(asked, run_id=run_id), after)


async def _follow(websocket: WebSocket, house: House, asked: LogQuestion, after: str | None) -> None:
    only = await logs.filter_of(house.premises.tasks, asked)
    house.hub.check_room()
    await over_websocket(websocket, _lines(house, only, number_after(after)))


async def _lines(house: House, only: LogFilter, after: int | None) -> AsyncGenerator[str]:
    async with aclosing(logs.tail(house.premises.logs, house.hub, only, after)) as lines:
        async for line in lines:
            if line is not None:
                yield msgspec.json.encode(line).decode()
