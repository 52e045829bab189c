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
from smartspider.api.house import Housed, house_of
from smartspider.api.ids import RunId, TaskId, number
from smartspider.api.paging import Cursor, Limit, number_of
from smartspider.api.security import needs, ws_principal
from smartspider.api.streams import number_after, over_websocket
from smartspider.core.access import Principal
from smartspider.core.logs import LEVELS
from smartspider.interfaces.log_store import LogFilter
from smartspider.services import logs
from smartspider.services.logs import LogQuestion
from smartspider.services.tasks import find_task
from smartspider.views.listed import Listed
from smartspider.views.logs import LogView

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
    desk: Desked,
    asked: Asked,
    _principal: Reader,
    *,
    task_id: Annotated[str | None, Query(max_length=200, description="Of this task: its id or name.")] = None,
    run_id: Annotated[str | None, Query(max_length=40, description="Of this run.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Lines of everything, or of what is asked for: all that is given must hold."""
    task = None if task_id is None else (await find_task(desk.tasks, task_id, or_deleted=True)).id
    run = None if run_id is None else number(run_id, "run")
    return await _page(house, msgspec.structs.replace(asked, task_id=task, run_id=run), limit, cursor)


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
    run = await house.folder.store.get_run(number(run_id, "run"))
    return await _page(house, msgspec.structs.replace(asked, run_id=run.id), limit, cursor)


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
    return await _page(house, msgspec.structs.replace(asked, run_id=run.id), limit, cursor)


async def _page(house: Housed, asked: LogQuestion, limit: int, cursor: str | None) -> Response:
    only = logs.filter_of(asked)
    return answer(await logs.search(house.folder.logs, only, before=number_of(cursor), limit=limit))


@router.websocket("/api/logs/tail")
async def tail_logs(
    websocket: WebSocket,
    desk: Desked,
    asked: Asked,
    *,
    task_id: str | None = None,
    run_id: str | None = None,
    after: str | None = None,
) -> None:
    """Lines as they come; with `after` those that came since, too."""
    await ws_principal(websocket, "logs")
    task = None if task_id is None else (await find_task(desk.tasks, task_id, or_deleted=True)).id
    run = None if run_id is None else number(run_id, "run")
    only = logs.filter_of(msgspec.structs.replace(asked, task_id=task, run_id=run))
    house_of(websocket).hub.check_room()
    await over_websocket(websocket, _tail(websocket, only, number_after(after)))


@router.websocket("/api/runs/{run_id}/logs/tail")
async def tail_run_logs(websocket: WebSocket, run_id: str, asked: Asked, after: str | None = None) -> None:
    """Lines of a run as they come."""
    await ws_principal(websocket, "logs")
    run = await house_of(websocket).folder.store.get_run(number(run_id, "run"))
    only = logs.filter_of(msgspec.structs.replace(asked, run_id=run.id))
    house_of(websocket).hub.check_room()
    await over_websocket(websocket, _tail(websocket, only, number_after(after)))


async def _tail(websocket: WebSocket, only: LogFilter, after: int | None) -> AsyncGenerator[str]:
    house = house_of(websocket)
    async with aclosing(logs.tail(house.folder.logs, house.hub, only, after)) as lines:
        async for line in lines:
            if line is not None:
                yield msgspec.json.encode(line).decode()
