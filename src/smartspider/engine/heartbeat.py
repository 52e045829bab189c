"""The presence of a worker: registration, heartbeats with its leases and its health, lease renewal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.events import WorkerRestored, WorkerThrottled
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Settlement
from smartspider.core.workers.host_assignment import load_shares, owned_partitions
from smartspider.core.workers.worker import WorkerHealth, WorkerRegistration
from smartspider.engine.context import WorkerContext, WorkerOptions
from smartspider.engine.outage import OutageRetry
from smartspider.engine.runtime import resident_bytes
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus
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
    waiting: Callable[[], tuple[int, frozenset[str]]]
    """The number of its requests that only wait, and the owners that have as many as they may."""
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
        waiting, at_limit = probe.waiting()
        health = msgspec.structs.replace(probe.health.measure(), waiting=waiting, at_limit=at_limit)
        beat = HeartbeatReport(probe.slots(), cpu_s, resident_bytes(), leases, health)
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


DECAY = 200
"""Requests in the moving averages."""
LAG_DECAY = 5
"""Heartbeats in the moving average of the lag."""
LAG_MAX_S = 2.0
"""Longer lags come from a suspended machine and are cut."""


class HealthMeter:
    """Measures the share of failed requests and the scheduling lag of this process.

    The share of faults starts at 0 and grows with what is observed.
    """

    def __init__(self) -> None:
        self._faults = 0.0
        self._request_s = 0.0
        self._requests = 0
        self._pages = 0
        self._lag_s = 0.0
        self._latest_s = 0.0

    def record_settled(self, settlements: Iterable[Settlement], stored: int) -> None:
        """Record settled requests, `stored` of which stored a page."""
        self._pages += stored
        for one in settlements:
            self._requests += 1
            news = one.host_news
            is_fault = news is not None and news.is_unreachable
            self._faults += (is_fault - self._faults) / DECAY
            self._request_s += (one.elapsed_s - self._request_s) / min(self._requests, DECAY)

    def record_lag(self, seconds: float) -> None:
        """Record that something ran `seconds` late."""
        self._latest_s = max(self._latest_s, min(seconds, LAG_MAX_S))

    def measure(self) -> WorkerHealth:
        """Return the current health. Called once per heartbeat: the worst lag since the last call counts."""
        self._lag_s += (self._latest_s - self._lag_s) / LAG_DECAY
        self._latest_s = 0.0
        return WorkerHealth(
            round(self._lag_s, 4), round(self._faults, 4), round(self._request_s, 6), self._pages, _load()
        )


def _load() -> float:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:  # pragma: no cover - a machine that does not know
        return 0.0


class Peers:
    """The share of its slots and the hosts a worker takes, by the health of all workers.

    Publishes an event when it starts to take less, and when it takes its full share again.
    """

    def __init__(self, bus: EventBus) -> None:
        self.share = 1.0
        """The share of its slots that it fills."""
        self.own = b""
        """The hosts it prefers, see `core/workers/host_assignment.py`; empty: no preference."""
        self._bus = bus
        self._placed_for: tuple[int, dict[int, float]] = (0, {})

    def update(self, worker_id: int, peers: Mapping[int, WorkerHealth]) -> None:
        """Take over the health of all workers that are not draining, including this one."""
        weights = load_shares(peers)
        self._set_share(weights.get(worker_id, 1.0), peers.get(worker_id, WorkerHealth()))
        if self._placed_for != (worker_id, weights):
            self._placed_for = (worker_id, weights)
            self.own = owned_partitions(worker_id, weights) if len(weights) > 1 else b""

    def usable_slots(self, slots: int) -> int:
        """Return how many slots to fill: at least one, unless it has none."""
        return min(slots, max(int(slots * self.share), 1))

    def _set_share(self, share: float, health: WorkerHealth) -> None:
        was, self.share = self.share, share
        if was == 1.0 > share:
            self._bus.publish(WorkerThrottled(0, share, health.fault_share, health.lag_s))
        elif was < 1.0 == share:
            self._bus.publish(WorkerRestored(0))
