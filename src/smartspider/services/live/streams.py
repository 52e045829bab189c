"""Streams of the events of a run: each event once, in order, across reconnects."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import msgspec

from smartspider.core.errors import NotFound
from smartspider.core.runs.run import FINISHED, Run, RunState
from smartspider.installation.installation import Installation
from smartspider.services.live.event_reader import EventReader
from smartspider.services.live.hub import KEEPALIVE, LiveHub, StreamMessage, Subscriber
from smartspider.services.runs.lookup import newest_run
from smartspider.views.runs import StatusView

ENDED: frozenset[RunState] = FINISHED | {"stopped"}
"""States a run leaves only on request."""
STATE = "run.state"
STATUS = "run.status"
END = "stream.end"


class StreamOptions(msgspec.Struct, frozen=True):
    """Where a stream starts and ends."""

    after: int = 0
    """The number of the last event the reader has."""
    is_endless: bool = False
    """Continue after the run has ended: it may be resumed."""
    snapshot: Callable[[int], Awaitable[Any]] | None = None
    """Start with the status this returns instead of with past events."""
    holder: str = ""
    """The user who reads it."""


def stream_options(
    installation: Installation, holder: str, after: int | None, *, follow: bool, snapshot: bool
) -> StreamOptions:
    """Return the options of a user's stream; a snapshot is only sent to a reader without a position."""
    from smartspider.services.runs.runs import get_status

    def read_status(run_id: int) -> Awaitable[StatusView]:
        return get_status(installation, run_id)

    wants_snapshot = snapshot and after is None
    return StreamOptions(after or 0, follow, read_status if wants_snapshot else None, holder)


async def follow_run(
    installation: Installation, hub: LiveHub, run_id: int, options: StreamOptions = StreamOptions()
) -> AsyncGenerator[StreamMessage]:
    """Yield the events of a run after a number; end with `stream.end` when the run has ended."""
    await installation.store.get_run(run_id)
    with hub.subscribe_run(run_id, options.holder) as subscriber:
        stream = _Stream(installation, run_id, subscriber)
        async with aclosing(stream.messages(options)) as messages:
            async for message in messages:
                yield message


async def follow_task(
    installation: Installation,
    hub: LiveHub,
    task_id: int,
    options: StreamOptions = StreamOptions(),
    run_id: int | None = None,
) -> AsyncGenerator[StreamMessage]:
    """Yield the events of the newest run of a task, or of the run given, and then of later runs."""
    run = (
        await newest_run(installation.store, task_id)
        if run_id is None
        else await installation.store.get_run(run_id)
    )
    if run is not None and run.task_id != task_id:
        raise NotFound(f"run {run.id} is not one of this task", hint=f"it is of {run.task_name!r}")
    first = options
    while True:
        with hub.subscribe_run(
            None if run is None else run.id, options.holder, or_created=True
        ) as subscriber:
            if run is None:
                run = await newest_run(installation.store, task_id)
                while run is None:
                    if not await subscriber.wait():
                        yield KEEPALIVE
                    run = await newest_run(installation.store, task_id)
                continue
            stream = _Stream(installation, run.id, subscriber, task_id)
            async with aclosing(stream.messages(first)) as messages:
                async for message in messages:
                    yield message
        if stream.next_run is None:
            return
        run, first = stream.next_run, StreamOptions(is_endless=options.is_endless)


class _Stream:
    """The events of one run for one reader. With a task it ends when a later run of the task exists."""

    def __init__(
        self, installation: Installation, run_id: int, subscriber: Subscriber, task_id: int | None = None
    ) -> None:
        self._installation, self._run_id = installation, run_id
        self._subscriber, self._task_id = subscriber, task_id
        self._reader = EventReader(installation, run_id, subscriber)
        self._may_have_ended = True
        self.next_run: Run | None = None

    async def messages(self, options: StreamOptions) -> AsyncGenerator[StreamMessage]:
        """Yield messages until the stream ends."""
        for message in await self._begin(options):
            yield message
        while True:
            for message in (news := await self._next()):
                self._may_have_ended |= message.name == STATE
                yield message
            if news or self._reader.has_more():
                continue
            if self._may_have_ended and (end := await self._end(options)) is not None:
                if self.next_run is None:
                    yield end
                return
            if self._reader.has_more():
                continue
            if not await self._subscriber.wait():
                self._may_have_ended = True  # a deleted run has no event that says so
                yield KEEPALIVE

    async def _begin(self, options: StreamOptions) -> list[StreamMessage]:
        """Find the position to continue from; return what is sent first."""
        if options.snapshot is None:
            return await self._reader.start_after(options.after)
        await self._reader.start_at_end()
        view = await options.snapshot(self._run_id)
        return [self._reader.message(STATUS, view, self._reader.number)]

    async def _next(self) -> list[StreamMessage]:
        """Return the next messages."""
        messages = await self._reader.next()
        self._may_have_ended |= self._reader.is_woken
        self._reader.is_woken = False
        return messages

    async def _end(self, options: StreamOptions) -> StreamMessage | None:
        """Return the end message if the run has ended and no event is unread, else None."""
        self._may_have_ended = False
        try:
            run = await self._installation.store.get_run(self._run_id)
        except NotFound:
            return self._reader.message(END, {"state": "deleted", "reason": ""})
        if run.state not in ENDED:
            return None
        if await self._reader.look_for_more():
            self._may_have_ended = True
            return None
        if self._task_id is not None:
            self.next_run = await self._run_after()
        if self.next_run is None and options.is_endless:
            return None
        return self._reader.message(END, {"state": run.state, "reason": run.reason})

    async def _run_after(self) -> Run | None:
        """Return the next run of the task, if any."""
        newer, before = None, None
        while True:
            found = await self._installation.store.list_runs(task_id=self._task_id, before=before, limit=100)
            for run in found:
                if run.id <= self._run_id:
                    return newer
                newer = run
            if len(found) < 100:
                return newer
            before = found[-1].id
