"""Live streams of events and log lines, by WebSocket or server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, NamedTuple

import msgspec
from fastapi import APIRouter, Depends, Header, Path, Query, WebSocket
from starlette.responses import Response

from smartspider.api.routes.live_socket import LiveSocket
from smartspider.api.routes.streaming import (
    NUMBER,
    After,
    document_events,
    event_stream,
    over_websocket,
    parse_position,
    websocket_messages,
)
from smartspider.api.security import CurrentServices, needs, websocket_principal
from smartspider.core.access import Principal
from smartspider.core.redaction.masking import mask_view
from smartspider.operations.services import Services
from smartspider.services import logs
from smartspider.services.inputs import parse_id
from smartspider.services.live.log_tail import tail_logs as tail_lines
from smartspider.services.live.streams import follow_run, follow_task, stream_options
from smartspider.services.live.topics import TOPICS, LiveContext
from smartspider.services.tasks.confidentiality import sees_secrets_of
from smartspider.services.tasks.tasks import find_task
from smartspider.store.logs.terms import LogFilter
from smartspider.views.arguments import LogArguments

router = APIRouter(tags=["runs"])

PathRunId = Annotated[str, Path(max_length=40, description="The id of a run.")]
PathTaskId = Annotated[str, Path(max_length=200, description="The id of a task, or its name.")]
Follow = Annotated[bool, Query(include_in_schema=False)]
"""Not in the document: a program that tries all documented parameters would wait forever."""
Snapshot = Annotated[
    bool, Query(description="Start with the status of the run (`run.status`) instead of all past events.")
]


@router.get(
    "/api/runs/{run_id}/events",
    name="follow_run",
    summary="Stream the events of a run",
    **document_events("Server-sent events; `data` is a JSON message `{id, run_id, at, event, data}`"),
)
async def get_events(
    run_id: PathRunId,
    services: CurrentServices,
    principal: Annotated[Principal, needs("runs", "read")],
    *,
    after: After = None,
    follow: Follow = False,
    snapshot: Snapshot = False,
    last_event_id: Annotated[str | None, Header(pattern=NUMBER, description="Same as `after`.")] = None,
) -> Response:
    """Stream all events of a run, past and future, numbered 1, 2, 3, ... without a gap.

    The same URL also accepts WebSocket connections and sends the same messages. `stream.end` is sent when
    the run ends, unless `follow=true` is set (an ended run may be resumed). `stream.reset` reports that
    events before `first` are no longer available.
    """
    position = parse_position(last_event_id, "Last-Event-ID")
    position = parse_position(after) if position is None else position
    services.hub.slots.check_room(principal.name)
    options = stream_options(
        services.installation, principal.name, position, follow=follow, snapshot=snapshot
    )
    run = await services.installation.store.get_run(parse_id(run_id, "run"))
    return event_stream(follow_run(services.installation, services.hub, run.id, options))


@router.websocket("/api/runs/{run_id}/events")
async def watch_run(
    websocket: WebSocket,
    run_id: str,
    services: CurrentServices,
    *,
    after: str | None = None,
    follow: str = "",
    snapshot: str = "",
) -> None:
    """Send the same over a WebSocket, closed with 1000 when the run has ended."""
    principal = await websocket_principal(websocket, "runs")
    services.hub.slots.check_room(principal.name)
    position = parse_position(after)
    options = stream_options(
        *(services.installation, principal.name, position),
        follow=_is_true(follow),
        snapshot=_is_true(snapshot),
    )
    run = await services.installation.store.get_run(parse_id(run_id, "run"))
    stream = follow_run(services.installation, services.hub, run.id, options)
    await over_websocket(websocket, websocket_messages(stream))


@router.websocket("/api/tasks/{task_id}/ws")
async def watch_task(
    websocket: WebSocket,
    task_id: PathTaskId,
    services: CurrentServices,
    *,
    run_id: str | None = None,
    after: str | None = None,
    follow: str = "true",
    snapshot: str = "",
) -> None:
    """Send the events of the newest run of a task, or of `run_id`, and then of later runs."""
    principal = await websocket_principal(websocket, "runs")
    installation, position = services.installation, parse_position(after)
    options = stream_options(
        installation, principal.name, position, follow=_is_true(follow), snapshot=_is_true(snapshot)
    )
    task = await find_task(installation, task_id)
    run = None if run_id is None else parse_id(run_id, "run")
    if run is not None:
        await installation.store.get_run(run)
    services.hub.slots.check_room(principal.name)
    stream = follow_task(installation, services.hub, task.id, options, run)
    await over_websocket(websocket, websocket_messages(stream))


@router.websocket("/api/live")
async def live(websocket: WebSocket, services: CurrentServices) -> None:
    """Send updates of all that the client watches, over one connection."""
    principal = await websocket_principal(websocket, *(topic.area for topic in TOPICS.values()))
    services.hub.slots.check_room(principal.name)
    context = LiveContext(services.installation, services.hub, services.live_readers, principal)
    await LiveSocket(websocket, context).serve()


def _filters(
    *,
    level: Annotated[list[str] | None, Query()] = None,
    since: str | None = None,
    until: str | None = None,
    host: str | None = None,
    url: str | None = None,
    error: str | None = None,
    worker: str | None = None,
    text: str | None = None,
) -> LogArguments:
    return LogArguments(
        level=level, since=since, until=until, host=host, url=url, error=error, worker=worker, text=text
    )


LogFilters = Annotated[LogArguments, Depends(_filters)]


@router.websocket("/api/logs/tail")
async def tail_logs(
    websocket: WebSocket,
    services: CurrentServices,
    only: LogFilters,
    *,
    task_id: str | None = None,
    run_id: str | None = None,
    after: str | None = None,
) -> None:
    """Send log lines as they are written; with `after`, those since that id first."""
    principal = await websocket_principal(websocket, "logs")
    await _tail(websocket, services, only, _Source(principal, task_id, run_id), after)


@router.websocket("/api/runs/{run_id}/logs/tail")
async def tail_run_logs(
    websocket: WebSocket,
    run_id: str,
    services: CurrentServices,
    only: LogFilters,
    after: str | None = None,
) -> None:
    """Send the log lines of a run as they are written."""
    principal = await websocket_principal(websocket, "logs")
    await services.installation.store.get_run(parse_id(run_id, "run"))
    await _tail(websocket, services, only, _Source(principal, None, run_id), after)


class _Source(NamedTuple):
    """The task or run whose log lines a principal reads; neither for all lines."""

    principal: Principal
    task_id: str | None
    run_id: str | None


async def _tail(
    websocket: WebSocket, services: Services, only: LogArguments, source: _Source, after: str | None
) -> None:
    # checked before the stream opens, so that an invalid filter gets an error response
    wanted = await logs.parse_filter(services.installation, only, source.task_id, source.run_id)
    services.hub.slots.check_room(source.principal.name)
    position = parse_position(after)
    await over_websocket(websocket, _lines(services, wanted, source, position))


async def _lines(
    services: Services, wanted: LogFilter, source: _Source, after: int | None
) -> AsyncGenerator[str]:
    principal, task_id, run_id = source
    shows_all = await sees_secrets_of(principal, services.installation, task_id, run_id)
    stream = tail_lines(services.installation, services.hub, wanted, principal.name, after=after)
    async with aclosing(stream) as lines:
        async for line in lines:
            if line is not None:
                yield msgspec.json.encode(line if shows_all else mask_view(line)).decode()


def _is_true(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "on")
