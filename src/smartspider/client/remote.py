"""Operations sent to a server over HTTP."""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import NoneType, UnionType
from typing import Any, Unpack, get_args

import aiohttp
import msgspec

from smartspider.client.http import CONNECT_S, ServerConnection, build_path, new_idempotency_key
from smartspider.client.streams import over_websocket, resumed, server_sent
from smartspider.operations.operation import Operation
from smartspider.operations.table import AllOperations
from smartspider.operations.tasks import TaskText
from smartspider.views.arguments import ExportArguments, LogArguments
from smartspider.views.logs import LogView
from smartspider.views.runs import LiveEvent
from smartspider.views.server import TargetsView

RESET = "stream.reset"
END = "stream.end"
PIECE_BYTES = 1 << 16
EXPORT_READ_TIMEOUT_S = 600.0
"""Timeout for the first piece of a file and between two pieces."""


class RemoteOperations(AllOperations):
    """Performs operations as requests to a server; broken streams are resumed."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection

    async def perform(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        """Send the request of an operation and return its view."""
        body = await self.connection.request(
            operation.method,
            _path(operation, arguments),
            params=_placed(operation, arguments, "query"),
            body=_body(operation, arguments),
            headers=_headers(operation, arguments),
            also=frozenset(operation.also),
        )
        kind = _answer_type(operation, arguments)
        return None if kind is NoneType else self.connection.read(body, kind)

    async def list_metric_targets(self) -> list[TargetsView]:
        """Return the targets of Prometheus' HTTP service discovery."""
        return await self.connection.get("/api/sd/prometheus", list[TargetsView])

    async def get_metrics(self) -> str:
        """Return metrics in the text format of Prometheus."""
        return (await self.connection.request("GET", "/metrics")).decode()

    async def export_results(
        self,
        *,
        format: str = "jsonl",  # noqa: A002 - the name of the API's parameter
        **options: Unpack[ExportArguments],
    ) -> AsyncGenerator[bytes]:
        """Yield all rows of a run as a file, in chunks; raise an error if the connection breaks."""
        where = options.get("where", ())
        params = {**options, "format": format, "where": [where] if isinstance(where, str) else list(where)}
        async for piece in self._file("POST", "/api/results/export", params):
            yield piece

    async def download_run_file(self, run_id: str, file_id: str) -> AsyncGenerator[bytes]:
        """Yield a file that a run downloaded, in chunks; raise an error if the connection breaks."""
        async for piece in self._file("GET", build_path("/api/runs/", run_id, "/files/", file_id)):
            yield piece

    async def _file(
        self, method: str, path: str, params: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[bytes]:
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_S, sock_read=EXPORT_READ_TIMEOUT_S)
        async with self.connection.open(method, path, params=params, timeout=timeout) as answer:
            async for piece in answer.content.iter_chunked(PIECE_BYTES):
                yield piece

    async def follow_run(
        self, run_id: str, *, after: int | None = None, follow: bool = False, snapshot: bool = False
    ) -> AsyncGenerator[LiveEvent]:
        """Yield the events of a run after a number, past and future, until the run ends.

        With `follow` the stream continues then: the run may be resumed. With `snapshot` it starts with the
        status of the run (`run.status`). `stream.reset` says that events before `first` are no longer kept.
        """
        position = _Position(after)
        path = build_path("/api/runs/", run_id, "/events")

        async def stream() -> AsyncGenerator[LiveEvent | None]:
            params = {
                "after": position.number,
                "follow": follow,
                "snapshot": snapshot and position.number is None,
            }
            async with aclosing(server_sent(self.connection, path, params)) as received:
                async for data in received:
                    event = None if data is None else self.connection.read(data, LiveEvent)
                    if event is not None and event.event == END:
                        return
                    position.advance(event)
                    yield event

        async with aclosing(resumed(stream, self.connection.retry)) as events:
            async for event in events:
                yield event

    async def watch_task(
        self,
        task_id: str,
        *,
        run_id: str | None = None,
        after: int | None = None,
        follow: bool = True,
        snapshot: bool = False,
    ) -> AsyncGenerator[LiveEvent]:
        """Yield the events of the newest run of a task, or of `run_id`, and then of later runs."""
        await self.get_task(task_id)  # raises an error that says more than a refused WebSocket
        position = _Position(after, run_id)
        path = build_path("/api/tasks/", task_id, "/ws")

        async def stream() -> AsyncGenerator[LiveEvent | None]:
            params: dict[str, Any] = {"run_id": position.run_id, "after": position.number, "follow": follow}
            params["snapshot"] = snapshot and position.number is None
            async with aclosing(over_websocket(self.connection, path, params)) as received:
                async for data in received:
                    event = None if data is None else self.connection.read(data, LiveEvent)
                    position.advance(event)
                    yield event

        async with aclosing(resumed(stream, self.connection.retry)) as events:
            async for event in events:
                yield event

    async def tail_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogArguments],
    ) -> AsyncGenerator[LogView]:
        """Yield log lines as they are written, each once, across reconnects; with `after`, those since that
        id.
        """
        filters = {"task_id": task_id, "run_id": run_id, **only}
        await self.list_logs(
            task_id=task_id, run_id=run_id, limit=1, **only
        )  # raises an error for an invalid filter
        async for line in self._tail("/api/logs/tail", filters, after):
            yield line

    async def tail_run_logs(
        self, run_id: str, *, after: str | None = None, **only: Unpack[LogArguments]
    ) -> AsyncGenerator[LogView]:
        """Yield the log lines of a run as they are written, like `tail_logs`."""
        await self.list_run_logs(run_id, limit=1, **only)
        async for line in self._tail(build_path("/api/runs/", run_id, "/logs/tail"), only, after):
            yield line

    async def _tail(
        self, path: str, filters: Mapping[str, Any], after: str | None
    ) -> AsyncGenerator[LogView]:
        last = after
        if last is None:  # a position to reconnect with before the first line
            newest = (await self.list_logs(limit=1)).items
            last = newest[0].id if newest else "0"

        async def stream() -> AsyncGenerator[LogView | None]:
            async with aclosing(
                over_websocket(self.connection, path, {**filters, "after": last})
            ) as received:
                async for data in received:
                    yield None if data is None else self.connection.read(data, LogView)

        async with aclosing(resumed(stream, self.connection.retry)) as lines:
            async for line in lines:
                last = line.id
                yield line


class _Position:
    """The position of a reader in a stream."""

    def __init__(self, number: int | None = None, run_id: str | None = None) -> None:
        self.number, self.run_id = number, run_id

    def advance(self, event: LiveEvent | None) -> None:
        """Store the position after an event."""
        if event is None:
            return
        self.run_id = event.run_id or self.run_id
        if event.event == RESET:
            self.number = msgspec.json.decode(event.data, type=_Reset).first - 1
        elif event.id is not None:
            self.number = event.id


class _Reset(msgspec.Struct):
    first: int


def _path(operation: Operation, arguments: Mapping[str, Any]) -> str:
    parts: list[str] = [""]
    for part in operation.path.split("/")[1:]:
        if part.startswith("{"):
            parts[-1] += "/"
            parts += [str(arguments[part[1:-1]]), ""]
        else:
            parts[-1] += f"/{part}"
    return build_path(*parts)


def _placed(operation: Operation, arguments: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the arguments sent in one place, by their names there."""
    in_path = operation.path_names
    found = {}
    for name, value in arguments.items():
        one = operation.parameters[name]
        if one.param.place == place and name not in in_path:
            wire = one.param.wire
            is_list = isinstance(value, str) and "list" in str(wire) and str not in get_args(wire)
            found[one.wire_name] = [value] if is_list else value
    return found


def _body(operation: Operation, arguments: Mapping[str, Any]) -> Any:
    found = _placed(operation, arguments, "body")
    if _sends_task(operation):
        return task_bytes(found["task"])[0]
    if operation.body is None or (operation.body.is_optional and not found):
        return None
    return found


def _headers(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, str]:
    headers = {
        name: value for name, value in _placed(operation, arguments, "header").items() if value is not None
    }
    if "If-Match" in headers and isinstance(headers["If-Match"], int):
        headers["If-Match"] = f'"{headers["If-Match"]}"'
    if operation.replay is not None:
        headers.setdefault("Idempotency-Key", new_idempotency_key())
    if _sends_task(operation):
        headers["Content-Type"] = task_bytes(arguments["task"])[1]
    return headers


def _sends_task(operation: Operation) -> bool:
    one = operation.parameters.get("task")
    return one is not None and one.annotation == TaskText


def _answer_type(operation: Operation, arguments: Mapping[str, Any]) -> Any:
    """Return the type of the response; a dry run has its own."""
    kind = operation.answer_type
    if not isinstance(kind, UnionType):
        return kind
    usual, dry_run = get_args(kind)
    return dry_run if arguments.get("dry_run") else usual


def task_bytes(task: TaskText) -> tuple[bytes, str]:
    """Return a task as bytes, and its content type."""
    if isinstance(task, Mapping):
        return msgspec.json.encode(dict(task)), "application/json"
    text = task.encode() if isinstance(task, str) else bytes(task)
    is_json = text.removeprefix(codecs.BOM_UTF8).lstrip().startswith((b"{", b"["))
    return text, "application/json" if is_json else "application/yaml"
