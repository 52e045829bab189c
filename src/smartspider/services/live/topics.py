"""The topics of the live socket: what can be watched, and the updates of each.

A topic is a class in `TOPICS` with the area that its readers need, its parameters as a struct, and a
generator of updates. The first update says where it starts; each later one holds what is new.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from functools import partial
from typing import Any, ClassVar, Protocol, cast, get_type_hints

import msgspec

from smartspider.core.access import Area, Principal
from smartspider.core.errors import Problem, RequestInvalid
from smartspider.core.redaction.masking import mask_view
from smartspider.core.runs.run import FINISHED
from smartspider.installation.installation import Installation
from smartspider.services import hosts, logs, nodes
from smartspider.services.inputs import is_id, parse_id
from smartspider.services.live.event_reader import EventReader
from smartspider.services.live.hub import LiveHub, StreamMessage, Subscriber
from smartspider.services.live.shared import SharedReaders
from smartspider.services.live.shared_state import SharedState
from smartspider.services.live.shared_tail import SharedTail, TailSource
from smartspider.services.overview import get_overview
from smartspider.services.runs.runs import get_status, list_live_runs
from smartspider.services.tasks.confidentiality import sees_secrets, sees_secrets_of, shown_to
from smartspider.views.arguments import LogArguments
from smartspider.views.hosts import HostGateView
from smartspider.views.listed import Listed
from smartspider.views.nodes import NodeView
from smartspider.views.params import MAX_LIMIT
from smartspider.views.runs import RunView, StatusView
from smartspider.views.server import OverviewView

MAX_UPDATE_BYTES = 256 * 1024
MAX_EVENTS = 200
"""Events of an update; the rest follows in the next one."""
MAX_LINES = 500
REFRESH_S = 1.0
"""Interval at which a state without events is read."""
OVERVIEW_EVERY_S = 2.0
REST_S = 5.0
"""Interval at which the status of a run that is over is read."""

Position = str | int | None


class Update(msgspec.Struct, frozen=True):
    """News as JSON, and the position to resume from; without data at the start."""

    after: Position
    data: bytes = b""


class LiveContext(msgspec.Struct, frozen=True):
    """The reader of a socket, and what all sockets of a process share."""

    installation: Installation
    hub: LiveHub
    readers: SharedReaders
    principal: Principal


class Topic(Protocol):
    """Something that can be watched."""

    area: ClassVar[Area]
    """The area that its readers may read."""
    params: ClassVar[type[msgspec.Struct]]

    def updates(self, context: LiveContext, params: Any, after: Position) -> AsyncGenerator[Update]:
        """Yield the start, and then what is new after a position."""
        ...


class RunParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run to watch."""

    run_id: str


class RunTopic:
    """The status of a run, and its events: each once, in order."""

    area: ClassVar[Area] = "runs"
    params: ClassVar[type[msgspec.Struct]] = RunParams

    async def updates(
        self, context: LiveContext, params: RunParams, after: Position
    ) -> AsyncGenerator[Update]:
        """Yield the status when it has changed, with the events since the last update."""
        installation, number = context.installation, parse_number(after)
        run_id = (await installation.store.get_run(parse_id(params.run_id, "run"))).id
        shows_all = await sees_secrets_of(context.principal, installation, None, params.run_id)
        with context.hub.subscribe_run(run_id) as subscriber:
            reader = EventReader(installation, run_id, subscriber, MAX_EVENTS)
            if number is None:
                await reader.start_at_end()
                first: list[StreamMessage] = []
            else:
                first = await reader.start_after(number)
            yield Update(reader.number)
            key = ("run", run_id, shows_all)
            build = partial(_RunStatus, context, run_id, shows_secrets=shows_all)
            async with context.readers.share(key, build, subscriber.nudge) as state:
                async for update in _run_updates(reader, state, subscriber, first):
                    yield update


class _RunStatus(SharedState):
    """The status of a run, read again after each of its events."""

    def __init__(self, context: LiveContext, run_id: int, *, shows_secrets: bool) -> None:
        super().__init__(self._status, self._wait_for_event)
        self._context, self._run_id, self._shows_secrets = context, run_id, shows_secrets
        self._rest_s = REFRESH_S
        self._subscriber: Subscriber | None = None

    async def read(self) -> None:
        """Read the status after each event."""
        with self._context.hub.subscribe_run(self._run_id) as self._subscriber:
            await super().read()

    async def _status(self) -> StatusView:
        if self._subscriber is not None:
            self._subscriber.take()
        status = await get_status(self._context.installation, self._run_id)
        self._rest_s = REST_S if status.state in FINISHED else REFRESH_S
        return status if self._shows_secrets else mask_view(status)

    async def _wait_for_event(self) -> None:
        if self._subscriber is not None:
            await self._subscriber.wait(self._rest_s)


async def _run_updates(
    reader: EventReader, state: SharedState, subscriber: Subscriber, first: list[StreamMessage]
) -> AsyncGenerator[Update]:
    digest = ""
    while state.differing(digest) is None:  # the first update has the status
        await subscriber.wait()
    while True:
        events = [*first, *await reader.next()]
        status = state.differing(digest)
        if events or status is not None:
            first, digest = [], state.digest if status is not None else digest
            texts = b",".join(event.text.encode() for event in events)
            yield Update(reader.number, b'{"status":%b,"events":[%b]}' % (status or b"null", texts))
        elif not reader.has_more():
            await subscriber.wait()


class _State:
    """A view that is sent when it has changed; its digest is the position."""

    def __init__(
        self,
        context: LiveContext,
        key: Hashable,
        view: Callable[[], Awaitable[Any]],
        every_s: float = REFRESH_S,
    ) -> None:
        self._context, self._key, self._view = context, key, view
        self._every_s = every_s

    async def updates(self, after: Position) -> AsyncGenerator[Update]:
        """Yield the view whenever it differs from the last one."""
        news = asyncio.Event()
        digest = after if isinstance(after, str) else ""
        yield Update(digest or None)
        async with self._context.readers.share(self._key, self._build, news.set) as state:
            while True:
                news.clear()
                content = state.differing(digest)
                if content is None:
                    await news.wait()
                else:
                    digest = state.digest
                    yield Update(digest, content)

    def _build(self) -> SharedState:
        return SharedState(self._view, lambda: asyncio.sleep(self._every_s))


class NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to choose."""


class RunsTopic:
    """The runs that are not over, with their counters and speed."""

    area: ClassVar[Area] = "runs"
    params: ClassVar[type[msgspec.Struct]] = NoParams

    def updates(self, context: LiveContext, params: NoParams, after: Position) -> AsyncGenerator[Update]:
        """Yield the list when it has changed."""

        async def view() -> Listed[RunView]:
            found = await list_live_runs(context.installation)
            return await shown_to(context.principal, context.installation, {}, found)

        return _State(context, ("runs", _reader_of(context.principal), params), view).updates(after)


class OverviewTopic:
    """The installation at a glance, like `GET /api/overview`."""

    area: ClassVar[Area] = "runs"
    params: ClassVar[type[msgspec.Struct]] = NoParams

    def updates(self, context: LiveContext, params: NoParams, after: Position) -> AsyncGenerator[Update]:
        """Yield the overview when it has changed."""

        async def view() -> OverviewView:
            found = await get_overview(context.installation)
            return await shown_to(context.principal, context.installation, {}, found)

        key = ("overview", _reader_of(context.principal), params)
        return _State(context, key, view, OVERVIEW_EVERY_S).updates(after)


class NodesTopic:
    """Machines and workers, like `GET /api/nodes`."""

    area: ClassVar[Area] = "nodes"
    params: ClassVar[type[msgspec.Struct]] = NoParams

    def updates(self, context: LiveContext, params: NoParams, after: Position) -> AsyncGenerator[Update]:
        """Yield the list when it has changed."""

        async def view() -> Listed[NodeView]:
            return Listed(await nodes.list_nodes(context.installation), None)

        return _State(context, ("nodes", params), view).updates(after)


class HostsParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The page of the list to watch."""

    held: bool = False
    limit: int = 100
    cursor: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_LIMIT:
            raise ValueError(f"a limit is between 1 and {MAX_LIMIT}")


class HostsTopic:
    """Hosts and their gates, like `GET /api/hosts`."""

    area: ClassVar[Area] = "hosts"
    params: ClassVar[type[msgspec.Struct]] = HostsParams

    def updates(self, context: LiveContext, params: HostsParams, after: Position) -> AsyncGenerator[Update]:
        """Yield the page when it has changed."""
        installation, principal = context.installation, context.principal

        async def view() -> Listed[HostGateView]:
            found = await hosts.list_hosts(
                installation, principal, held=params.held, cursor=params.cursor, limit=params.limit
            )
            return await shown_to(principal, installation, {}, found)

        return _State(context, ("hosts", _reader_of(principal), params), view).updates(after)


LogsParams = msgspec.defstruct(
    "LogsParams",
    [("task_id", str | None, None), ("run_id", str | None, None)]
    + [(name, kind, None) for name, kind in get_type_hints(LogArguments).items()],
    frozen=True,
    forbid_unknown_fields=True,
)


class LogsTopic:
    """Log lines as they are written, with the filters of `GET /api/logs`."""

    area: ClassVar[Area] = "logs"
    params: ClassVar[type[msgspec.Struct]] = LogsParams

    async def updates(self, context: LiveContext, params: Any, after: Position) -> AsyncGenerator[Update]:
        """Yield the lines after a position, each once."""
        installation, news = context.installation, asyncio.Event()
        given = {name: value for name, value in msgspec.structs.asdict(params).items() if value is not None}
        task_id, run_id = given.pop("task_id", None), given.pop("run_id", None)
        wanted = await logs.parse_filter(installation, cast("LogArguments", given), task_id, run_id)
        shows_all = await sees_secrets_of(context.principal, installation, task_id, run_id)
        source = TailSource(wanted, shows_all)
        number = parse_number(after)
        number = await installation.logs.last_id() if number is None else number
        yield Update(str(number))
        build = partial(SharedTail, source, installation.logs, context.hub)
        async with context.readers.share(("logs", source), build, news.set) as tail:
            while True:
                news.clear()
                lines, last = await _lines_after(tail, number)
                if lines:
                    yield Update(str(last), b'{"lines":[%b]}' % b",".join(lines))
                elif last == number:
                    await news.wait()
                number = last


async def _lines_after(tail: SharedTail, number: int) -> tuple[list[bytes], int]:
    """Return the next lines, as many as an update may have, and the number to continue after."""
    lines: list[bytes] = []
    size = 0
    while True:
        piece = await tail.after(number)
        for line_number, line in piece.lines:
            if lines and (len(lines) == MAX_LINES or size + len(line) > MAX_UPDATE_BYTES):
                return lines, number
            lines.append(line)
            size, number = size + len(line), line_number
        if piece.last <= number and not piece.lines:
            return lines, number
        number = max(number, piece.last)


TOPICS: dict[str, Topic] = {
    "run": RunTopic(),
    "runs": RunsTopic(),
    "overview": OverviewTopic(),
    "logs": LogsTopic(),
    "nodes": NodesTopic(),
    "hosts": HostsTopic(),
}


def _reader_of(principal: Principal) -> Hashable:
    """Return a key that all principals share who see the same secrets of all tasks."""
    if sees_secrets(principal, ""):
        return "all"
    return principal.name if principal.may("tasks", "write") else "none"


def parse_number(after: Position) -> int | None:
    """Return the number of a position; None to start now."""
    if after is None:
        return None
    text = str(after)
    if not is_id(text):
        message = f"{text[:40]!r} is not a position of this topic"
        raise RequestInvalid(
            f"after: {message}", (Problem("after", message),), hint="use `after` of the last message received"
        )
    return int(text)
