"""The live hub of a process: polls the store while anyone subscribes, and passes on what is new."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.errors import StoreUnavailable
from smartspider.core.events import RunEvent
from smartspider.core.redaction.masking import mask_view
from smartspider.services.fair_limit import FairLimit, SlotLimits
from smartspider.store.events import EventFeed
from smartspider.store.logs.store import LogStore
from smartspider.views.runs import LiveEvent

CREATED = "run.created"
POLL_S = 0.1
BATCH = 1_000
PAUSE_S = 1.0
"""Pause after the store could not be read."""


class HubLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of live streams."""

    slots: SlotLimits = SlotLimits(total=4_000, reserve=2_000, retry_after_s=10.0)
    queue_size: int = 256
    """Messages queued for a subscriber; a slower one reads the rest from the store."""
    keepalive_s: float = 15.0
    """Maximum silence of a stream."""


def hub_limits(connections: int) -> HubLimits:
    """Return the limits of a server with so many connections: streams leave some for other calls."""
    usual = HubLimits()
    total = min(usual.slots.total, connections * 2 // 5)
    slots = msgspec.structs.replace(usual.slots, total=total, reserve=min(usual.slots.reserve, total // 2))
    return msgspec.structs.replace(usual, slots=slots)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LiveEvent).decode


class StreamMessage(msgspec.Struct, frozen=True):
    """A message of a stream as JSON text. `number` is the number of an event within its run."""

    number: int | None
    run_id: int | None
    name: str
    text: str

    def event(self) -> LiveEvent:
        """Return the message as a value."""
        return _decode(self.text)


KEEPALIVE = StreamMessage(None, None, "stream.beat", "")
"""Sent when nothing happened for a while."""


class Received(msgspec.Struct, frozen=True):
    """Messages since the last call; `is_woken`: the store may have more."""

    messages: list[StreamMessage]
    is_woken: bool = False


def event_message(event: RunEvent) -> StreamMessage:
    """Return the message of an event. All readers get the same, so secrets in URLs are masked."""
    data = msgspec.Raw(_masked(event.data))
    view = LiveEvent(event.number, str(event.run_id), format_time(event.at), event.name, data)
    return StreamMessage(event.number, event.run_id, event.name, _encode(view).decode())


def _masked(data: bytes) -> bytes:
    if b"=" not in data and b"@" not in data:
        return data
    return _encode(mask_view(msgspec.json.decode(data)))


class Subscriber:
    """A bounded queue of messages for one reader."""

    def __init__(self, run_id: int | None, limits: HubLimits, *, or_created: bool = False) -> None:
        self.run_id, self.or_created = run_id, or_created
        self._keepalive_s = limits.keepalive_s
        self._queue: deque[StreamMessage] = deque(maxlen=limits.queue_size)
        self._news = asyncio.Event()
        self._is_woken = self._is_closed = False

    def put(self, message: StreamMessage) -> None:
        """Queue a message; the oldest is dropped when the queue is full, which its reader sees by the
        numbers.
        """
        self._queue.append(message)
        self._news.set()

    def wake(self) -> None:
        """Make the reader look into the store."""
        self._is_woken = True
        self._news.set()

    def nudge(self) -> None:
        """Make the reader look for what is new elsewhere than in the store."""
        self._news.set()

    def close(self) -> None:
        """End the stream of this reader."""
        self._is_closed = True
        self._news.set()

    def take(self) -> Received:
        """Return and clear the queue."""
        taken = Received(list(self._queue), self._is_woken)
        self._queue.clear()
        self._is_woken = False
        return taken

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for something new; return False after `timeout_s`, or when it is time for a keepalive."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._keepalive_s if timeout_s is None else timeout_s):
                await self._news.wait()
        if self._is_closed:
            raise StoreUnavailable("the server is shutting down", hint="reconnect in a moment")
        is_new = self._news.is_set()
        self._news.clear()
        return is_new


class LiveHub:
    """Distributes events and log lines: one poll of the store serves all subscribers."""

    def __init__(self, feed: EventFeed, logs: LogStore, limits: HubLimits = HubLimits()) -> None:
        self._feed, self._logs, self._limits = feed, logs, limits
        self._of_run: dict[int, set[Subscriber]] = {}
        self._of_created: set[Subscriber] = set()
        self._of_logs: set[Subscriber] = set()
        self._of_none: set[Subscriber] = set()
        """Connections with a slot whose watches subscribe on their own."""
        self.slots = FairLimit("streams", limits.slots)
        self._is_closed = False
        self._polling: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return self.slots.in_use

    @contextmanager
    def subscribe_run(
        self, run_id: int | None, holder: str | None = None, *, or_created: bool = False
    ) -> Iterator[Subscriber]:
        """Subscribe to the events of a run; with `or_created` also to the creation of any run. It takes
        a slot of the user `holder`, if given.
        """
        subscriber = Subscriber(run_id, self._limits, or_created=or_created)
        groups = [self._of_run.setdefault(run_id, set())] if run_id is not None else []
        if or_created:
            groups.append(self._of_created)
        with self._in(subscriber, holder, *groups):
            try:
                yield subscriber
            finally:
                if run_id is not None and self._of_run.get(run_id) == {subscriber}:
                    del self._of_run[run_id]

    @contextmanager
    def subscribe_logs(self, holder: str | None = None) -> Iterator[Subscriber]:
        """Subscribe to new log lines, like `subscribe_run`."""
        subscriber = Subscriber(None, self._limits)
        with self._in(subscriber, holder, self._of_logs):
            yield subscriber

    @contextmanager
    def connect(self, holder: str) -> Iterator[Subscriber]:
        """Take a slot of a user for a connection; its subscriber is told only of the end of the server."""
        subscriber = Subscriber(None, self._limits)
        with self._in(subscriber, holder, self._of_none):
            yield subscriber

    def stop(self) -> None:
        """End all streams."""
        self._is_closed = True
        for subscriber in self._subscribers():
            subscriber.close()

    async def close(self) -> None:
        """End all streams and stop polling."""
        self.stop()
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
            self._polling = None

    @property
    def is_polling(self) -> bool:
        """True while the hub reads the store for its subscribers."""
        return self._polling is not None and not self._polling.done()

    @contextmanager
    def _in(self, subscriber: Subscriber, holder: str | None, *groups: set[Subscriber]) -> Iterator[None]:
        with contextlib.nullcontext() if holder is None else self.slots.acquire(holder):
            if self._is_closed:
                subscriber.close()
            for group in groups:
                group.add(subscriber)
            if self._has_subscribers() and not self.is_polling:
                self._polling = asyncio.create_task(self._poll(), name="hub")
            try:
                yield
            finally:
                for group in groups:
                    group.discard(subscriber)

    async def _poll(self) -> None:
        """Poll until no subscriber is left. Each reads the store first, so it misses nothing before that."""
        event_id = log_id = -1
        while self._has_subscribers() and not self._is_closed:
            try:
                event_id = await self._poll_events(event_id)
                log_id = await self._poll_logs(log_id)
                await asyncio.sleep(POLL_S)
            except StoreUnavailable:
                await asyncio.sleep(PAUSE_S)

    async def _poll_events(self, last: int) -> int:
        if last < 0:
            last = await self._feed.last_id()
            for subscriber in self._subscribers():
                subscriber.wake()  # the store has what came before this poll
            return last
        while True:
            events = await self._feed.since(last, limit=BATCH)
            for event in events:
                self._publish(event)
            if not events:
                return last
            last = events[-1].id
            if len(events) < BATCH:
                return last
            await asyncio.sleep(0)

    def _publish(self, event: RunEvent) -> None:
        subscribers = self._of_run.get(event.run_id)
        if subscribers:
            message = event_message(event)
            for subscriber in subscribers:
                subscriber.put(message)
        if event.name == CREATED:
            for subscriber in self._of_created:
                subscriber.wake()

    async def _poll_logs(self, last: int) -> int:
        if not self._of_logs:
            return -1
        newest = await self._logs.last_id()
        if newest != last:
            for subscriber in self._of_logs:
                subscriber.wake()
        return newest

    def _has_subscribers(self) -> bool:
        return bool(self._of_created or self._of_logs) or any(self._of_run.values())

    def _subscribers(self) -> set[Subscriber]:
        return set().union(*self._of_run.values(), self._of_created, self._of_logs, self._of_none)
