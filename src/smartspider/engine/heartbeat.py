"""The presence of a worker: registration, heartbeats with its leases, lease renewal."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.frontier.lease import Lease
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.engine.context import WorkerContext, WorkerOptions
from smartspider.engine.health import HealthMeter
from smartspider.engine.outage import OutageRetry
from smartspider.engine.runtime import resident_bytes
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport

LEAVE_S = 5.0
"""Timeout of leaving."""


class WorkerProbe(msgspec.Struct, frozen=True):
    """The callbacks of a worker for its heartbeat."""

    leases: Callable[[], list[Lease]]
    slots: Callable[[], int | None]
    """Its number of slots; None: the number it is ordered to have."""
    health: HealthMeter
    """Its health; the lateness of heartbeats counts as lag."""
    apply: Callable[[HeartbeatReply], None]
    on_error: Callable[[Exception], None]
    """Called with an error that ends a periodic task."""


class Heartbeat:
    """Registers the worker, sends heartbeats, renews its leases, and unregisters it."""

    def __init__(
        self,
        context: WorkerContext,
        registration: WorkerRegistration,
        outage: OutageRetry,
        options: WorkerOptions,
    ) -> None:
        self.worker_id = 0
        self._context = context
        self._registration = registration
        self._outage = outage
        self._options = options
        self._beat_at = float("inf")

    @asynccontextmanager
    async def running(self, probe: WorkerProbe) -> AsyncIterator[None]:
        """Keep the worker registered for the duration of the block."""
        await self._join()
        try:
            tasks = self._tasks(probe)
            async with running_periodically(tasks, self._context.clock, self._outage, probe.on_error):
                yield
        finally:
            await self._leave()

    def _tasks(self, probe: WorkerProbe) -> list[PeriodicTask]:
        tasks = [
            PeriodicTask("beat", self._options.beat_s, lambda: self._beat(probe)),
            PeriodicTask("renew", self._options.renew_s, lambda: self._renew(probe.leases())),
        ]
        return (
            [*tasks, PeriodicTask("reclaim", self._options.reclaim_s, self._reclaim)]
            if self._options.reclaims
            else tasks
        )

    async def _join(self) -> None:
        join = self._context.frontier.join
        self.worker_id = await self._outage.call("join", lambda: join(self._registration))

    async def _leave(self) -> None:
        """Unregister. If that fails, others see the missing heartbeats."""
        if not self._outage.is_enabled:
            await self._context.frontier.leave(self.worker_id)
            return
        with contextlib.suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self._context.frontier.leave(self.worker_id)

    async def _beat(self, probe: WorkerProbe) -> None:
        monotonic = self._context.clock.monotonic
        probe.health.record_lag(monotonic() - self._beat_at)
        cpu_s, leases = time.process_time(), probe.leases()
        beat = HeartbeatReport(probe.slots(), cpu_s, resident_bytes(), leases, probe.health.measure())
        try:
            orders = await self._context.workers.beat(self.worker_id, beat)
        finally:
            self._beat_at = monotonic() + self._options.beat_s
        if orders.is_unknown and self._outage.is_enabled:
            await self._join()  # it was silent for too long; its pages may still be stored
        else:
            probe.apply(orders)

    async def _renew(self, leases: list[Lease]) -> None:
        """Renew leases. A lost one is finished anyway: the first commit of a page wins."""
        if leases:
            await self._context.frontier.renew(leases)

    async def _reclaim(self) -> None:
        for event in await self._context.frontier.reclaim():
            self._context.bus.publish(event)


class PeriodicTask(msgspec.Struct, frozen=True):
    """A call repeated at an interval."""

    name: str
    every_s: float
    do: Callable[[], Awaitable[None]]


@asynccontextmanager
async def running_periodically(
    tasks: list[PeriodicTask], clock: Clock, outage: OutageRetry, on_error: Callable[[Exception], None]
) -> AsyncIterator[None]:
    """Run tasks until the block ends, each in a loop of its own. `on_error` gets the error that ends one."""
    loops = [asyncio.create_task(_repeat(task, clock, outage, on_error)) for task in tasks]
    try:
        yield
    finally:
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


async def _repeat(
    task: PeriodicTask, clock: Clock, outage: OutageRetry, on_error: Callable[[Exception], None]
) -> None:
    backoff = outage.new_backoff()
    try:
        while True:
            try:
                await task.do()
            except StoreUnavailable as error:
                outage.report_failure(task.name, error)
                await clock.sleep(backoff.next_s())
            else:
                outage.report_success(task.name)
                backoff.reset()
                await clock.sleep(task.every_s)
    except Exception as error:  # noqa: BLE001 - the worker raises it
        on_error(error)
