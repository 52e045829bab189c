"""The hub of a process: looks for what is new in the store while somebody watches, and tells everybody."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from smartspider.core.errors import StoreUnavailable, TooMany
from smartspider.core.live import RunEvent
from smartspider.interfaces.event_feed import EventFeed
from smartspider.interfaces.log_store import LogStore
from smartspider.services.following import CREATED, Taken, Told, told_of

LOOK_S = 0.1
ROOM = 256
"""Messages that wait for a watcher; one that is slower reads the rest from the store."""
MOST_WATCHERS = 2_000
PIECE = 1_000
PAUSE_S = 1.0
"""How long the store is left alone when it cannot be read."""


class Watcher:
    """One who watches: what was heard and not yet taken, bounded."""

    def __init__(self, run_id: int | None, *, or_created: bool = False) -> None:
        self.run_id, self.or_created = run_id, or_created
        self._heard: deque[Told] = deque(maxlen=ROOM)
        self._news = asyncio.Event()
        self._is_woken = self._is_closed = False

    def hear(self, told: Told) -> None:
        """Remember a message; too many push out the oldest, which the watcher sees by the numbers."""
        self._heard.append(told)
        self._news.set()

    def wake(self) -> None:
        """There may be something new that is not handed over."""
        self._is_woken = True
        self._news.set()

    def close(self) -> None:
        """Nothing comes any more."""
        self._is_closed = True
        self._news.set()

    def take(self) -> Taken:
        """What was heard since the last time."""
        taken = Taken(list(self._heard), self._is_woken)
        self._heard.clear()
        self._is_woken = False
        return taken

    async def wait(self, seconds: float) -> bool:
        """Come back when something is new, or False after so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        if self._is_closed:
            raise StoreUnavailable("the server is stopping", hint="come back in a moment")
        is_new = self._news.is_set()
        self._news.clear()
        return is_new


class Hub:
    """See `services/following.py`, `Watching`. One look at the store serves all watchers."""

    def __init__(self, feed: EventFeed, logs: LogStore) -> None:
        self._feed, self._logs = feed, logs
        self._of_run: dict[int, set[Watcher]] = {}
        self._of_created: set[Watcher] = set()
        self._of_logs: set[Watcher] = set()
        self._count = 0
        self._is_closed = False
        self._looking: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return self._count

    @contextmanager
    def of_run(self, run_id: int | None, *, or_created: bool = False) -> Iterator[Watcher]:
        """Hear of a run."""
        watcher = Watcher(run_id, or_created=or_created)
        places = [self._of_run.setdefault(run_id, set())] if run_id is not None else []
        if or_created:
            places.append(self._of_created)
        with self._in(watcher, *places):
            try:
                yield watcher
            finally:
                if run_id is not None and self._of_run.get(run_id) == {watcher}:
                    del self._of_run[run_id]

    @contextmanager
    def of_logs(self) -> Iterator[Watcher]:
        """Hear of log lines."""
        watcher = Watcher(None)
        with self._in(watcher, self._of_logs):
            yield watcher

    def check_room(self) -> None:
        """Raises `TooMany` when nobody more can watch."""
        if self._count >= MOST_WATCHERS:
            raise TooMany("too many watch already", retry_after_s=10.0, hint="close a stream")

    def stop(self) -> None:
        """End all streams."""
        self._is_closed = True
        for watcher in self._watchers():
            watcher.close()

    async def close(self) -> None:
        """End all streams and look no more."""
        self.stop()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
            self._looking = None

    @contextmanager
    def _in(self, watcher: Watcher, *places: set[Watcher]) -> Iterator[None]:
        self.check_room()
        if self._is_closed:
            watcher.close()
        for place in places:
            place.add(watcher)
        self._count += 1
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="hub")
        try:
            yield
        finally:
            self._count -= 1
            for place in places:
                place.discard(watcher)

    async def _look(self) -> None:
        """Look until nobody watches. Who comes reads the store first, so nothing before that is missed."""
        event_id = log_id = -1
        while self._count and not self._is_closed:
            try:
                event_id = await self._look_at_events(event_id)
                log_id = await self._look_at_logs(log_id)
                await asyncio.sleep(LOOK_S)
            except StoreUnavailable:
                await asyncio.sleep(PAUSE_S)

    async def _look_at_events(self, last: int) -> int:
        if last < 0:
            last = await self._feed.last_id()
            for watcher in self._watchers():
                watcher.wake()  # what came before this look is in the store
            return last
        while True:
            events = await self._feed.since(last, limit=PIECE)
            for event in events:
                self._tell(event)
            if not events:
                return last
            last = events[-1].id
            if len(events) < PIECE:
                return last
            await asyncio.sleep(0)

    def _tell(self, event: RunEvent) -> None:
        watchers = self._of_run.get(event.run_id)
        if watchers:
            told = told_of(event)
            for watcher in watchers:
                watcher.hear(told)
        if event.name == CREATED:
            for watcher in self._of_created:
                watcher.wake()

    async def _look_at_logs(self, last: int) -> int:
        if not self._of_logs:
            return -1
        newest = await self._logs.last_id()
        if newest != last:
            for watcher in self._of_logs:
                watcher.wake()
        return newest

    def _watchers(self) -> set[Watcher]:
        return set().union(*self._of_run.values(), self._of_created, self._of_logs)
