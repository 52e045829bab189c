"""Following runs: every event once, in order, however often the watcher comes and goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any, Protocol

import msgspec

from smartspider.core.errors import NotFound
from smartspider.core.live import RunEvent
from smartspider.core.runs import OVER, Run, RunState
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_feed import EventFeed
from smartspider.interfaces.store import Store
from smartspider.services.newest import newest_run
from smartspider.views.live import LiveEvent
from smartspider.views.times import told_at

BEAT_S = 15.0
"""How long a stream is silent at most."""
PIECE = 500
"""Events read from the store at a time."""
ENDED: frozenset[RunState] = OVER | {"stopped"}
"""States in which nothing more happens unless somebody does something."""
CREATED = "run.created"
STATE = "run.state"
STATUS = "run.status"
RESET = "stream.reset"
END = "stream.end"

_encode = msgspec.json.Encoder().encode


class Told(msgspec.Struct, frozen=True):
    """A message: what it is about, and its JSON. `number` is that of an event within its run."""

    number: int | None
    run_id: int | None
    name: str
    text: str


class Taken(msgspec.Struct, frozen=True):
    """What was heard; `is_woken`: there may be more, which only the store has."""

    messages: list[Told]
    is_woken: bool = False


BEAT = Told(None, None, "stream.beat", "")
"""Nothing happened for a while."""


class Watch(Protocol):
    """Somebody who waits for what is new."""

    def take(self) -> Taken:
        """What came since the last time: some of it, where it was too much; the store has all."""

    async def wait(self, seconds: float) -> bool:
        """Come back when something is new; False: nothing was for so long."""


class Watching(Protocol):
    """Tells what is new in the store."""

    def of_run(self, run_id: int | None, *, or_created: bool = False) -> AbstractContextManager[Watch]:
        """Hear of the events of a run; with `or_created` also when any run is created."""

    def of_logs(self) -> AbstractContextManager[Watch]:
        """Hear when there are new log lines."""


class Ground(msgspec.Struct, frozen=True):
    """What following stands on."""

    store: Store
    feed: EventFeed
    watching: Watching
    clock: Clock


class Wanted(msgspec.Struct, frozen=True):
    """From where a stream begins, and where it ends."""

    after: int = 0
    """The number of the last event that is known."""
    is_endless: bool = False
    """Go on also when the run is over: it may be resumed."""
    snapshot: Callable[[int], Awaitable[Any]] | None = None
    """Begin with how the run stands, as this tells it, instead of with what happened before."""


def told_of(event: RunEvent) -> Told:
    """An event as a message."""
    view = LiveEvent(event.number, str(event.run_id), told_at(event.at), event.name, msgspec.Raw(event.data))
    return Told(event.number, event.run_id, event.name, _encode(view).decode())


async def follow_run(ground: Ground, run_id: int, wanted: Wanted = Wanted()) -> AsyncGenerator[Told]:
    """All events of a run after a number; ends with `stream.end` when the run is over."""
    await ground.store.get_run(run_id)
    with ground.watching.of_run(run_id) as watch:
        stream = _Stream(ground, run_id, watch)
        async with aclosing(stream.messages(wanted)) as messages:
            async for told in messages:
                yield told


async def follow_task(
    ground: Ground, task_id: int, wanted: Wanted = Wanted(), run_id: int | None = None
) -> AsyncGenerator[Told]:
    """All events of the newest run of a task, or of the run given, and then of those that come after it."""
    run = await newest_run(ground.store, task_id) if run_id is None else await ground.store.get_run(run_id)
    if run is not None and run.task_id != task_id:
        raise NotFound(f"run {run.id} is not one of this task", hint=f"it is of {run.task_name!r}")
    first = wanted
    while True:
        with ground.watching.of_run(None if run is None else run.id, or_created=True) as watch:
            if run is None:
                run = await newest_run(ground.store, task_id)
                while run is None:
                    if not await watch.wait(BEAT_S):
                        yield BEAT
                    run = await newest_run(ground.store, task_id)
                continue
            stream = _Stream(ground, run.id, watch, task_id)
            async with aclosing(stream.messages(first)) as messages:
                async for told in messages:
                    yield told
        if stream.next_run is None:
            return
        run, first = stream.next_run, Wanted(is_endless=wanted.is_endless)


class _Stream:
    """The events of one run for one watcher. With a task it ends when another run of that has begun."""

    def __init__(self, ground: Ground, run_id: int, watch: Watch, task_id: int | None = None) -> None:
        self._ground, self._run_id, self._watch, self._task_id = ground, run_id, watch, task_id
        self._number = 0
        self._is_behind = True
        self._may_be_over = True
        self.next_run: Run | None = None

    async def messages(self, wanted: Wanted) -> AsyncGenerator[Told]:
        """What a watcher is told, until the stream ends."""
        async for told in self._begin(wanted):
            yield told
        while True:
            for told in (news := await self._next()):
                self._may_be_over |= told.name == STATE
                yield told
            if news or self._has_more():
                continue
            if self._may_be_over and (end := await self._end(wanted)) is not None:
                if self.next_run is None:
                    yield end
                return
            if self._has_more():
                continue
            if not await self._watch.wait(BEAT_S):
                self._may_be_over = True  # it may have been deleted, which is no event of it
                yield BEAT

    async def _begin(self, wanted: Wanted) -> AsyncGenerator[Told]:
        """Find the place to go on from; one that is not known any more is told with where it begins."""
        feed, run_id = self._ground.feed, self._run_id
        if wanted.snapshot is not None:
            self._number = await self._last_number()
            view = await wanted.snapshot(run_id)
            yield self._message(STATUS, view, self._number)
        elif wanted.after > 0:
            self._number = wanted.after
            if not await feed.of_run(run_id, after=wanted.after - 1, limit=1):
                self._number = await feed.first_number(run_id) - 1
                yield self._message(RESET, {"first": self._number + 1})

    async def _last_number(self) -> int:
        """The number of the newest event, found by halving what may be one."""
        low, step = 0, 1024
        while await self._ground.feed.of_run(self._run_id, after=low + step - 1, limit=1):
            low, step = low + step, step * 2
        while step > 1:
            step //= 2
            if await self._ground.feed.of_run(self._run_id, after=low + step - 1, limit=1):
                low += step
        return low

    async def _next(self) -> list[Told]:
        """What comes next: from what was heard, where that has no gap, or else from the store."""
        taken = self._watch.take()
        heard = [told for told in taken.messages if (told.number or 0) > self._number]
        if taken.is_woken:
            self._is_behind = self._may_be_over = True
        if not self._is_behind:
            if not heard:
                return []
            if self._follows_on(heard):
                self._number += len(heard)
                return heard
        events = await self._ground.feed.of_run(self._run_id, after=self._number, limit=PIECE)
        self._is_behind = len(events) == PIECE
        if not events:
            return []
        told = [told_of(event) for event in events]
        if events[0].number > self._number + 1:
            told.insert(0, self._message(RESET, {"first": events[0].number}))
        self._number = events[-1].number
        return told

    def _has_more(self) -> bool:
        return self._is_behind

    def _follows_on(self, heard: list[Told]) -> bool:
        return all(told.number == self._number + place for place, told in enumerate(heard, 1))

    async def _end(self, wanted: Wanted) -> Told | None:
        """How the stream ends, if it does: nothing may have happened between the last event and that."""
        self._may_be_over = False
        try:
            run = await self._ground.store.get_run(self._run_id)
        except NotFound:
            return self._message(END, {"state": "deleted", "reason": ""})
        if run.state not in ENDED:
            return None
        if await self._ground.feed.of_run(self._run_id, after=self._number, limit=1):
            self._is_behind = self._may_be_over = True
            return None
        if self._task_id is not None:
            self.next_run = await self._run_after()
        if self.next_run is None and wanted.is_endless:
            return None
        return self._message(END, {"state": run.state, "reason": run.reason})

    async def _run_after(self) -> Run | None:
        """The next run of the task, if there is one."""
        newer, before = None, None
        while True:
            found = await self._ground.store.list_runs(task_id=self._task_id, before=before, limit=100)
            for run in found:
                if run.id <= self._run_id:
                    return newer
                newer = run
            if len(found) < 100:
                return newer
            before = found[-1].id

    def _message(self, name: str, data: Any, number: int | None = None) -> Told:
        at = told_at(self._ground.clock.now())
        view = LiveEvent(number, str(self._run_id), at, name, msgspec.Raw(_encode(data)))
        return Told(number, self._run_id, name, _encode(view).decode())
