"""A worker: one loop that leases requests of its runs and settles finished ones."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.failpoints import reach
from smartspider.core.frontier.lease import Lease
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.engine.context import WorkerContext, WorkerOptions
from smartspider.engine.heartbeat import HealthMeter, Heartbeat, Peers, WorkerProbe
from smartspider.engine.in_flight import InFlight, JobCache, OpenedJob, OpenJob
from smartspider.engine.outage import OutageRetry
from smartspider.engine.run_source import RunSource
from smartspider.interfaces.worker_registry import HeartbeatReply

SETTLE_PAGES = 64
IDLE_S = 0.100


class Worker:
    """Works on the runs of its source until they end, or until it is stopped.

    Without `slots` it has as many as its runs may have in flight.
    """

    def __init__(
        self,
        context: WorkerContext,
        source: RunSource,
        open_job: OpenJob,
        registration: WorkerRegistration,
        *,
        slots: int | None = None,
        options: WorkerOptions = WorkerOptions(),
    ) -> None:
        self._context = context
        self._clock = context.clock
        self._outage = context.outage or OutageRetry(context.clock, context.bus, is_enabled=False)
        self._source = source
        self._jobs = JobCache(open_job)
        self._slots = slots or 0
        self._follows = slots is None
        self._options = options
        self._capabilities = registration.capabilities
        if slots is not None:
            registration = msgspec.structs.replace(registration, slots=slots)
        self._heartbeat = Heartbeat(context, registration, self._outage, options)
        self._health = HealthMeter()
        self._peers = Peers(context.bus, is_placed=options.is_placed)
        self._runs: dict[int, Run] = {}
        self._in_flight = InFlight(context, self._health, self._on_finished, self._on_error)
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._error: Exception | None = None
        self._refresh_at = 0.0
        self._next_ahead = 0.0

    def stop(self) -> None:
        """Lease nothing more, finish requests in flight, release the rest."""
        self._is_stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Work until this worker holds no request any more."""
        probe = WorkerProbe(
            self._in_flight.leases, self._own_slots, self._health, self._apply_orders, self._on_error
        )
        async with self._heartbeat.running(probe):
            try:
                await self._pump()
                await self._drain()
            finally:
                await self._in_flight.cancel_all()
                await self._jobs.close()

    def _own_slots(self) -> int | None:
        return self._slots if self._follows else None

    def _apply_orders(self, orders: HeartbeatReply) -> None:
        if orders.is_draining or orders.is_unknown:
            self.stop()
            return
        self._peers.update(self._heartbeat.worker_id, orders.peers)
        if not self._follows and orders.slots != self._slots:
            self._slots = orders.slots
            self._wake.set()

    def _on_finished(self) -> None:
        if self._in_flight.finished == 1 or self._is_settle_due():
            self._wake.set()

    def _on_error(self, error: Exception) -> None:
        self._error = error
        self._wake.set()

    async def _pump(self) -> None:
        """Settle and lease in turns until there is a reason to end.

        While the store is unavailable nothing is leased, and held requests are kept until they can be
        settled.
        """
        backoff = self._outage.new_backoff()
        while not self._is_stopping:
            if self._error is not None:
                raise self._error
            try:
                next_at = await self._cycle()
            except StoreUnavailable as error:
                self._outage.report_failure("work", error)
                await self._back_off(backoff.next_s())
                continue
            self._outage.report_success("work")
            backoff.reset()
            if not self._runs and not self._source.is_endless:
                return
            await self._sleep_until(self._next_wake(next_at))

    async def _cycle(self) -> float | None:
        """Settle finished requests, lease new ones, and return when to ask again, on this worker's clock."""
        is_full = False
        if self._in_flight.finished:
            await self._gather()
            is_full = await self._lease_ahead()
            await self._in_flight.settle()
        if self._clock.monotonic() >= self._refresh_at:
            await self._refresh_runs()
        next_at = None if is_full else await self._lease()
        if self._runs and not self._in_flight.held and next_at is None:
            await self._refresh_runs()
        return next_at

    def _is_settle_due(self) -> bool:
        """Return whether a full batch waits, or half of the slots are idle."""
        usable_slots = self._peers.usable_slots(self._slots)
        idle = usable_slots - self._in_flight.in_flight
        return self._in_flight.finished >= SETTLE_PAGES or idle * 2 >= usable_slots

    async def _gather(self) -> None:
        """Wait briefly for more pages, to settle them together."""
        self._wake.clear()
        if not self._is_settle_due() and not self._is_stopping:
            await self._wait(self._options.settle_s)

    def _next_wake(self, next_at: float | None) -> float:
        """Return when to continue, unless a page finishes first."""
        if not self._runs:
            return self._refresh_at
        idle_until = self._clock.monotonic() + IDLE_S
        return idle_until if next_at is None else min(idle_until, next_at)

    async def _sleep_until(self, moment: float) -> None:
        if self._in_flight.finished or self._is_stopping:
            return
        self._wake.clear()
        await self._wait(moment - self._clock.monotonic())

    async def _back_off(self, seconds: float) -> None:
        """Wait for the whole time, unless there is a reason to end."""
        until = self._clock.monotonic() + seconds
        while not self._is_stopping and self._error is None and self._clock.monotonic() < until:
            self._wake.clear()
            await self._wait(until - self._clock.monotonic())

    async def _wait(self, seconds: float) -> None:
        if seconds > 0.0:
            due_at = self._clock.monotonic() + seconds
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                self._health.record_lag(self._clock.monotonic() - due_at)

    async def _lease_ahead(self) -> bool:
        """Lease for the slots of finished pages, so that they need not wait for the store; return whether all
        slots are filled.

        At most twice as many requests as slots are held. If nothing could be leased before settling, for
        example because of the limits of a run, this pauses for a while.
        """
        is_slow = self._in_flight.settle_s > self._options.quick_s  # new pages would only wait for the store
        if not self._options.leases_ahead or is_slow or self._clock.monotonic() < self._next_ahead:
            return False
        with contextlib.suppress(StoreUnavailable):  # settling reports the outage
            await self._lease(finished=min(self._in_flight.finished, self._peers.usable_slots(self._slots)))
        is_full = self._in_flight.in_flight >= self._peers.usable_slots(self._slots)
        if not is_full:
            self._next_ahead = self._clock.monotonic() + self._options.refresh_s
        return is_full

    async def _lease(self, *, finished: int = 0) -> float | None:
        """Lease for the free slots and those of finished pages; return when to ask again, on this worker's
        clock.
        """
        want = self._peers.usable_slots(self._slots) - self._in_flight.held + finished
        if want <= 0 or not self._runs or self._is_stopping:
            return None
        worker_id, runs = self._heartbeat.worker_id, list(self._runs)
        batch = await self._context.frontier.lease(worker_id, want, runs, self._peers.own, self._capabilities)
        reach("lease.committed")
        await self._start_all(batch.leases)
        if batch.next_at is None:
            return None
        return self._clock.monotonic() + max(batch.next_at - batch.now, 0.001)

    async def _start_all(self, leases: Sequence[Lease]) -> None:
        """Start requests; release those that cannot be started."""
        left = list(leases)
        refused: list[Lease] = []
        try:
            while left:
                if not await self._start(left[0]):
                    refused.append(left[0])
                del left[0]
        finally:
            if refused or left:
                await self._context.frontier.release([*refused, *left])

    async def _start(self, lease: Lease) -> bool:
        """Start a request; return False if the job of its run cannot be opened."""
        run = self._runs.get(lease.run_id)
        opened = await self._open_job(run) if run is not None else None
        if opened is None:
            return False
        self._in_flight.start(lease, opened)
        return True

    async def _open_job(self, run: Run) -> OpenedJob | None:
        """Return the job of a run; None if it cannot be opened, which ends the run or this worker."""
        try:
            return await self._jobs.get(run)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a bad run must not stop the others
            self._runs.pop(run.id, None)
            await self._source.refuse(run, error)
            return None

    async def _refresh_runs(self) -> None:
        """Refresh the list of runs and their tuning."""
        self._refresh_at = self._clock.monotonic() + self._options.refresh_s
        self._runs = {run.id: run for run in await self._source.poll()}
        if not self._runs:
            self._refresh_at += self._options.refresh_s  # an idle worker polls half as often
        if self._follows:
            opened = [await self._open_job(run) for run in list(self._runs.values())]
            self._slots = sum(each.job.plan.concurrency for each in opened if each is not None)
        await self._in_flight.abandon(self._runs)
        await self._jobs.retain(self._runs)

    async def _drain(self) -> None:
        """Finish and settle requests in flight; leaving releases the rest."""
        self._runs = {}
        drain_s = self._options.drain_s
        give_up_at = self._clock.monotonic() + drain_s
        is_retrying = self._outage.is_enabled
        # Requests that are not stored by then are fetched again by another worker.
        with contextlib.suppress(*((TimeoutError,) if is_retrying else ())):
            async with asyncio.timeout(drain_s + self._options.store_s if is_retrying else None):
                await self._outage.call("work", lambda: self._in_flight.abandon(()))
                while self._in_flight.in_flight and self._error is None:
                    left = give_up_at - self._clock.monotonic()
                    if left <= 0.0:
                        break
                    self._wake.clear()
                    await self._wait(min(left, self._options.settle_s))
                    if self._is_settle_due() and self._in_flight.finished:
                        await self._outage.call("work", self._in_flight.settle)
                if self._in_flight.finished:
                    await self._outage.call("work", self._in_flight.settle)
