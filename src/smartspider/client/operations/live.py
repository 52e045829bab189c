"""Runs as they go on: every event once, however often the connection breaks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from smartspider.client.connection import place
from smartspider.client.operations.runs import RUNS
from smartspider.client.operations.tasks import TASKS
from smartspider.client.operations.wired import Wired
from smartspider.client.streams import over_websocket, resumed, server_sent
from smartspider.views.live import LiveEvent
from smartspider.views.tasks import TaskView

RESET = "stream.reset"
END = "stream.end"


class LiveOperations(Wired):
    """Events of runs, numbered 1, 2, 3, ... in each run."""

    async def follow_run(
        self, run_id: str, *, after: int | None = None, follow: bool = False, snapshot: bool = False
    ) -> AsyncGenerator[LiveEvent]:
        """All events of a run after a number, those that were and those that come, until the run is over.

        With `follow` it goes on then: the run may be resumed. With `snapshot` it begins with how the run
        stands (`run.status`). `stream.reset` says that events before `first` are not kept any more.
        """
        seen = _Seen(after)

        async def stream() -> AsyncGenerator[LiveEvent | None]:
            params = {"after": seen.number, "follow": follow, "snapshot": snapshot and seen.number is None}
            async with aclosing(server_sent(self.connection, place(RUNS, run_id, "/events"), params)) as sent:
                async for data in sent:
                    event = None if data is None else self.connection.read(data, LiveEvent)
                    if event is not None and event.event == END:
                        return
                    seen.note(event)
                    yield event

        async with aclosing(resumed(stream)) as events:
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
        """The events of the newest run of a task, or of `run_id`, and then of the runs that come after it."""
        path = place(f"{TASKS}/", task_id)
        await self.connection.get(path, TaskView)  # says what is wrong in better words than a WebSocket can
        seen = _Seen(after, run_id)

        async def stream() -> AsyncGenerator[LiveEvent | None]:
            params: dict[str, Any] = {"run_id": seen.run_id, "after": seen.number, "follow": follow}
            params["snapshot"] = snapshot and seen.number is None
            async with aclosing(over_websocket(self.connection, f"{path}/ws", params)) as sent:
                async for data in sent:
                    event = None if data is None else self.connection.read(data, LiveEvent)
                    seen.note(event)
                    yield event

        async with aclosing(resumed(stream)) as events:
            async for event in events:
                yield event


class _Seen:
    """How far a watcher has come."""

    def __init__(self, number: int | None = None, run_id: str | None = None) -> None:
        self.number, self.run_id = number, run_id

    def note(self, event: LiveEvent | None) -> None:
        """Remember where to go on."""
        if event is None:
            return
        self.run_id = event.run_id or self.run_id
        if event.event == RESET:
            self.number = msgspec.json.decode(event.data, type=_Reset).first - 1
        elif event.id is not None:
            self.number = event.id


class _Reset(msgspec.Struct):
    first: int
