"""The event subscribers of a worker: log lines to a file, the store and standard error; metrics."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from smartspider.core import events
from smartspider.core.events import Event
from smartspider.core.logs import LEVELS, LogLine
from smartspider.core.redaction.redactor import Redactor
from smartspider.interfaces.event_bus import Subscriber
from smartspider.store.logs.store import LogStore
from smartspider.store.metrics import MetricStore
from smartspider.telemetry.buffer import LogBuffer
from smartspider.telemetry.log_files import EventLog, show_line
from smartspider.telemetry.metrics import EventCounter

COUNT_EVERY_S = 2.0
LAST_FLUSH_S = 5.0
"""Timeout of the last flush."""


class LogDestinations(msgspec.Struct, frozen=True):
    """The destinations of a worker's log, and their minimum levels."""

    folder: Path
    """Its folder of log files."""
    logs: LogStore
    level: str = "info"
    metrics: MetricStore | None = None
    """Where events are counted, if anywhere."""
    file: str = ""
    """Name of the log file, if not that of the worker."""
    stored_level: str = "debug"
    """The store gets lines of `level` that have at least this level as well."""
    shown_level: str | None = None
    """Lines of this level are also printed to standard error."""


class LogLineSubscriber:
    """Converts events at or above a level to lines and passes them to the outputs."""

    def __init__(
        self, worker: str, level: str, redactor: Redactor, *outputs: Callable[[LogLine], None]
    ) -> None:
        self._worker = worker
        self._level = LEVELS[level]
        self._redactor = redactor
        self._outputs = outputs

    def __call__(self, event: Event) -> None:
        """Pass on an event."""
        if LEVELS[event.level] < self._level:
            return
        line = line_of(event, time.time(), self._worker, self._redactor)
        for output in self._outputs:
            output(line)


@asynccontextmanager
async def worker_subscribers(
    destinations: LogDestinations, worker: str, redactor: Redactor | None = None
) -> AsyncIterator[list[Subscriber]]:
    """Yield the subscribers for a worker's bus. They write about once a second, and the rest at the end."""
    redactor = redactor or Redactor()
    buffer = LogBuffer(destinations.logs.add, worker)
    file = EventLog(destinations.folder, destinations.file or worker, destinations.level, redactor)
    stored_level = max(destinations.level, destinations.stored_level, key=LEVELS.__getitem__)
    subscribers: list[Subscriber] = [file, LogLineSubscriber(worker, stored_level, redactor, buffer.add)]
    tasks = [asyncio.create_task(buffer.keep_flushing(), name="log lines")]
    flushes: list[Callable[[], Awaitable[None]]] = [buffer.flush]
    if destinations.metrics is not None:
        counter = EventCounter(destinations.metrics.add)
        subscribers.append(counter)
        tasks.append(asyncio.create_task(_keep_counting(counter), name="sums"))
        flushes.append(counter.flush)
    subscribers += shown_lines(worker, destinations.shown_level, redactor)
    try:
        yield subscribers
    finally:
        await stop_tasks(tasks, *flushes)
        file.close()


def shown_lines(worker: str, level: str | None, redactor: Redactor) -> list[Subscriber]:
    """Return a subscriber that prints lines of a level to standard error; none without a level."""
    return [] if level is None else [LogLineSubscriber(worker, level, redactor, show_line)]


async def stop_tasks(
    tasks: list[asyncio.Task[None]], *flushes: Callable[[], Awaitable[None]], within_s: float = LAST_FLUSH_S
) -> None:
    """Cancel background tasks, then flush within a timeout."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            for flush in flushes:
                await flush()


async def _keep_counting(counter: EventCounter) -> None:
    while True:
        await asyncio.sleep(COUNT_EVERY_S)
        await counter.flush()


LONGEST_ERROR = 60
_HEAD = ("run_id", "host", "url")
_FAILED = ("dead", "broken")


def line_of(event: Event, at: float, worker: str, redactor: Redactor) -> LogLine:
    """Return an event as a log line, redacted."""
    fields: dict[str, Any] = redactor.fields(msgspec.structs.asdict(event))
    run_id, host, url = (fields.pop(name, None) for name in _HEAD)
    return LogLine(
        at,
        LEVELS[event.level],
        event.name,
        redactor.text(sentence(event)),
        worker,
        run_id=run_id or None,
        host=host,
        url=url,
        error=error_of(event),
        fields=fields,
    )


def error_of(event: Event) -> str | None:
    """Return the type of an error: the first part of a reason such as `connect: refused`."""
    if event.level not in ("warning", "error") and getattr(event, "state", None) not in _FAILED:
        return None
    reason = getattr(event, "reason", "")
    return reason.partition(":")[0].strip()[:LONGEST_ERROR] or None


def sentence(event: Event) -> str:  # noqa: C901, PLR0911, PLR0912 - one line per event
    """Return a sentence about an event."""
    match event:
        case events.RunStarted(task=task, is_resumed=is_resumed):
            return f"the run of task {task} {'has resumed' if is_resumed else 'has started'}"
        case events.RunEnded(state=state, reason=reason):
            return f"the run is {state}{_because(reason)}"
        case events.PageClosed(state=state, reason=reason, status=status, items=items, elapsed_s=elapsed_s):
            answer = f"HTTP {status}, " if status else ""
            return f"{state} with {_many(items, 'item')} ({answer}{elapsed_s:.2f} s){_because(reason)}"
        case events.FetchRetried(reason=reason, attempts=attempts, delay_s=delay_s):
            return f"{reason}; attempt {attempts} failed, the next is in {delay_s:.1f} s or later"
        case events.PageBuried(reason=reason):
            return f"failed permanently{_because(reason)}"
        case events.ValuesCleaned(count=count):
            return f"{_many(count, 'value')} contained characters that cannot be stored; they were removed"
        case events.ItemsRejected(count=count, reason=reason):
            return f"{_many(count, 'item')} rejected{_because(reason)}"
        case events.LinksDropped(count=count):
            return f"{_many(count, 'link')} dropped: the page exceeds traps.max_links_per_page"
        case events.UrlsLeftOut(code=code, count=count):
            return f"{_many(count, 'URL')} left out ({code})"
        case events.FieldsDropped(count=count):
            return f"carried fields of {_many(count, 'link')} dropped: too large"
        case events.HostHeld(host=host, hold_s=hold_s, reason=reason):
            return f"{host} is on hold for {hold_s:.0f} s{_because(reason)}"
        case events.HostAbandoned(host=host, count=count, reason=reason):
            return f"abandoned {host} with {_many(count, 'request')}{_because(reason)}"
        case events.CookiesInvalid(title=title, reason=reason):
            return f"{title} are set aside{_because(reason)}"
        case events.LeasesReturned(count=count, worker=worker):
            return f"{_many(count, 'request')} returned to the queue: {worker} is dead or unresponsive"
        case events.WorkerKilled(worker=worker, reason=reason, url=url):
            page = f" while it read {url}" if url else ""
            return f"{worker} was killed{page}{_because(reason)}"
        case events.WorkerDrained(worker=worker, reason=reason, url=url):
            page = f" while it reads {url}" if url else ""
            return f"{worker} is drained{page}: it {reason}"
        case events.GuardTripped(reason=reason):
            return f"a guard was triggered{_because(reason)}"
        case events.StoreLost(reason=reason):
            return f"the store is unavailable{_because(reason)}"
        case events.StoreReturned(away_s=away_s):
            return f"the store is available again after {away_s:.1f} s"
        case events.WorkerThrottled(share=share, fault_share=faults, lag_s=lag_s):
            worse = f"{faults:.0%} of its requests fail, its lag is {lag_s:.2f} s"
            return f"this worker is less healthy than the others and fills {share:.0%} of its slots: {worse}"
        case events.WorkerRestored():
            return "this worker uses all its slots again"
        case events.UrlFilterCounted(layer=layer, hits=hits, misses=misses):
            return f"the {layer} URL filter: {hits} hits, {misses} misses"
        case events.UrlFilterFull(layer=layer, bytes_used=used, bytes_max=most, is_full=is_full):
            rest = ": it is full, and the store is queried instead" if is_full else ""
            return f"the {layer} URL filter uses {used} of {most} bytes{rest}"
        case _:
            return event.name.replace(".", " ")


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
