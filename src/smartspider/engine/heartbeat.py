"""A worker as others see it: there from joining to leaving, with what it holds."""

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
from smartspider.engine.outage import Backoff, OutageRetry
from smartspider.engine.runtime import resident_bytes
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport

BEAT_S = 1.8
"""What a worker is told with the answer, it hears in less than two seconds."""
RENEW_S = 20.0
RECLAIM_S = 5.0
LEAVE_S = 5.0
"""How long it may take to say goodbye."""


class WorkerProbe(msgspec.Struct, frozen=True):
    """What a worker is asked for, and told."""

    leases: Callable[[], list[Lease]]
    slots: Callable[[], int | None]
    """How many it has; None: as many as it is told."""
    health: HealthMeter
    """How it does; how late it is said to be there counts."""
    apply: Callable[[HeartbeatReply], None]
    on_error: Callable[[Exception], None]
    """Something ended that must not end."""


class Heartbeat:
    """Joins, says now and then that its worker is alive and what it holds, renews that, and leaves."""

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
        """The worker is there as long as the block lasts; all this goes on whatever it waits for."""
        await self._join()
        try:
            tasks = self._tasks(probe)
            async with running_periodically(tasks, self._context.clock, self._outage, probe.on_error):
                yield
        finally:
            await self._leave()

    def _tasks(self, probe: WorkerProbe) -> list[PeriodicTask]:
        tasks = [
            PeriodicTask("beat", BEAT_S, lambda: self._beat(probe)),
            PeriodicTask("renew", self._options.renew_s or RENEW_S, lambda: self._renew(probe.leases())),
        ]
        return (
            [*tasks, PeriodicTask("reclaim", RECLAIM_S, self._reclaim)] if self._options.reclaims else tasks
        )

    async def _join(self) -> None:
        join = self._context.frontier.join
        self.worker_id = await self._outage.call("join", lambda: join(self._registration))

    async def _leave(self) -> None:
        """What cannot be said now is seen by others: a worker that is silent is gone."""
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
            self._beat_at = monotonic() + BEAT_S
        if orders.is_unknown and self._outage.is_enabled:
            await self._join()  # it was silent for too long; what it holds may be stored nevertheless
        else:
            probe.apply(orders)

    async def _renew(self, leases: list[Lease]) -> None:
        """A lease that is lost is finished anyway: the first commit of a page wins."""
        if leases:
            await self._context.frontier.renew(leases)

    async def _reclaim(self) -> None:
        for event in await self._context.frontier.reclaim():
            self._context.bus.publish(event)


class PeriodicTask(msgspec.Struct, frozen=True):
    """Something to be done again and again."""

    name: str
    every_s: float
    do: Callable[[], Awaitable[None]]


@asynccontextmanager
async def running_periodically(
    tasks: list[PeriodicTask], clock: Clock, outage: OutageRetry, on_error: Callable[[Exception], None]
) -> AsyncIterator[None]:
    """Chores are done until the block ends. What ends one of them is told, and nobody else waits for it."""
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
    backoff = Backoff()
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
    except Exception as error:  # noqa: BLE001 - whoever works raises it: nothing must end unseen
        on_error(error)
