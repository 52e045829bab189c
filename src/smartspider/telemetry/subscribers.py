"""The event subscribers of a server's worker: log file, store, standard output, metrics."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from smartspider.core.events import Event
from smartspider.core.logs import LEVELS, LogLine
from smartspider.core.redaction import Redactor
from smartspider.interfaces.event_bus import Subscriber
from smartspider.store.logs.store import LogStore
from smartspider.store.metrics import MetricStore
from smartspider.telemetry.buffer import LogBuffer
from smartspider.telemetry.lines import line_of
from smartspider.telemetry.log_files import EventLog, print_line
from smartspider.telemetry.metrics import EventCounter

COUNT_EVERY_S = 2.0
LAST_FLUSH_S = 5.0
"""Timeout of the last flush."""


class LogDestinations(msgspec.Struct, frozen=True):
    """The destinations and the level of a worker's log."""

    folder: Path
    logs: LogStore
    metrics: MetricStore
    level: str = "info"
    is_printed: bool = False
    """Also print JSON to standard output."""


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
    counter = EventCounter(destinations.metrics.add)
    file = EventLog(destinations.folder, worker, destinations.level, redactor)
    outputs = (buffer.add, print_line) if destinations.is_printed else (buffer.add,)
    tasks = [
        asyncio.create_task(buffer.keep_flushing(), name="log lines"),
        asyncio.create_task(_keep_counting(counter), name="sums"),
    ]
    try:
        yield [file, LogLineSubscriber(worker, destinations.level, redactor, *outputs), counter]
    finally:
        await stop_tasks(tasks, buffer.flush, counter.flush)
        file.close()


async def stop_tasks(
    tasks: list[asyncio.Task[None]], *flushes: Callable[[], object], within_s: float = LAST_FLUSH_S
) -> None:
    """Cancel background tasks, then flush within a timeout."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            for flush in flushes:
                written = flush()
                if asyncio.iscoroutine(written):
                    await written


async def _keep_counting(counter: EventCounter) -> None:
    while True:
        await asyncio.sleep(COUNT_EVERY_S)
        await counter.flush()
