"""A worker: one loop that leases requests of its runs and settles finished ones."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.failpoints import reach
from smartspider.core.frontier.lease import Lease
from smartspider.core.limits.waiting import WaitingRequests
from smartspider.core.requests.politeness import LEASE_LEAD_S
from smartspider.core.runs.run import Run
from smartspider.core.workers import activity
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.engine.context import WorkerContext, WorkerOptions
from smartspider.engine.heartbeat import HealthMeter, Heartbeat, Peers, WorkerProbe
from smartspider.engine.in_flight import InFlight, OpenedJob, OpenedRuns, RunOpener
from smartspider.engine.loop_tick import ticking
from smartspider.engine.outage import OutageRetry
from smartspider.engine.pacing import AT_ONCE, NEVER
from smartspider.engine.run_source import RunSource
from smartspider.interfaces.worker_registry import HeartbeatReply

SETTLE_PAGES = 64
IDLE_S = 0.100
SLACK_S = 0.002
"""Things that are due this soon are done together."""
WAITING_S = 0.250
"""Interval of asking for work while all known work waits for its hosts: others may find more."""


class Worker:
    """Works on the runs of its source until they end, or until it is stopped.

    Without `slots` it has as many as its runs may have in flight.
    """

    def __init__(
        self,
        context: WorkerContext,
        source: RunSource,
        opener: RunOpener,
        registration: WorkerRegistration,
        *,
        slots: int | None = None,
        options: WorkerOptions = WorkerOptions(),
    ) -> None:
        self._context = context
        self._clock = context.clock
        self._outage = context.outage or OutageRetry(context.clock, context.bus, is_enabled=False)
        self._source = source
        self._opened = OpenedRuns(opener)
        self._slots = slots or 0
        self._follows = slots is None
        self._options = options
        self._capabilities = registration.capabilities
        if slots is not None:
            registration = msgspec.structs.replace(registration, slots=slots)
        self._heartbeat = Heartbeat(context, registration, self._outage, options)
        self._health = HealthMeter()
        self._peers = Peers(context.bus)
        self._runs: dict[int, Run] = {}
        self._waiting = WaitingRequests(options.free_after_s)
        self._in_flight = InFlight(context, self._health, self._waiting, self._on_finished, self._on_error)
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._error: Exception | None = None
        self._refresh_at = 0.0
        self._next_ahead = 0.0
        self._ask_at = AT_ONCE
        self._is_paced = False
        """Work is queued whose hosts are closed."""
        self._wake_at = AT_ONCE

    def stop(self) -> None:
        """Lease nothing more, finish requests in flight, release the rest."""
        self._is_stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Work until this worker holds no request any more."""
        probe = WorkerProbe(
            leases=self._in_flight.leases,
            slots=self._own_slots,
            health=self._health,
            waiting=self._report_waiting,
            apply=self._apply_orders,
            on_error=self._on_error,
        )
        async with self._heartbeat.running(probe):
            try:
                with ticking(lambda: self._heartbeat.worker_id):
                    await self._pump()
                    await self._drain()
            finally:
                await self._in_flight.cancel_all()
                await self._opened.close()

    def _own_slots(self) -> int | None:
        return self._slots if self._follows else None

    def _report_waiting(self) -> tuple[int, frozenset[str]]:
        slots = self._peers.usable_slots(self._slots)
        return self._waiting_count(slots), self._waiting.owners_at_limit(slots, self._clock.monotonic())

    def _waiting_count(self, slots: int) -> int:
        """Return how many of the held requests take no slot."""
        return self._waiting.count(slots, self._clock.monotonic())

    def _apply_orders(self, orders: HeartbeatReply) -> None:
        if orders.is_draining or orders.is_unknown:
            self.stop()
            return
        self._peers.update(self._heartbeat.worker_id, orders.peers)
        if not self._follows and orders.slots != self._slots:
            self._slots = orders.slots
            self._ask_at = AT_ONCE
            self._wake.set()

    def _on_finished(self) -> None:
        if self._settle_at() < self._wake_at - SLACK_S:
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
                await self._cycle()
            except StoreUnavailable as error:
                self._outage.report_failure("work", error)
                await self._back_off(backoff.next_s())
                continue
            self._outage.report_success("work")
            backoff.reset()
            if not self._runs and not self._source.is_endless:
                return
            await self._sleep_until(self._next_wake())

    async def _cycle(self) -> None:
        """Settle finished requests and lease new ones, if it is time."""
        is_full = False
        if self._is_settle_due():
            is_full = await self._lease_ahead()
            self._ask_at = min(self._ask_at, self._in_flight.needed_at - LEASE_LEAD_S)
            await self._in_flight.settle()
        if self._clock.monotonic() >= self._refresh_at:
            await self._refresh_runs()
        if self._clock.monotonic() < self._ask_at - SLACK_S:
            return
        next_at = None if is_full else await self._lease()
        self._is_paced = next_at is not None
        if next_at is not None:
            self._ask_at = min(self._clock.monotonic() + WAITING_S, next_at)
            return
        self._ask_at = self._clock.monotonic() + IDLE_S
        if self._runs and not self._in_flight.held:
            await self._refresh_runs()

    def _is_settle_due(self) -> bool:
        return self._settle_at() <= self._clock.monotonic() + SLACK_S

    def _settle_at(self) -> float:
        """Return when to settle: a full batch at once, else when half of the slots are idle or a moment has
        passed. While all work waits for its hosts, also the results wait until they may lead to a request.
        """
        if not self._in_flight.finished:
            return NEVER
        if self._in_flight.finished >= SETTLE_PAGES:
            return AT_ONCE
        usable_slots = self._peers.usable_slots(self._slots)
        waiting = self._waiting_count(usable_slots)
        idle = usable_slots - self._in_flight.in_flight + waiting
        first_at = self._in_flight.first_finished_at
        soonest = AT_ONCE if idle * 2 >= usable_slots else first_at + self._options.settle_s
        is_last = not self._is_paced and not self._in_flight.in_flight
        if is_last or self._in_flight.held - waiting >= usable_slots:
            return soonest
        paced = min(self._in_flight.needed_at - LEASE_LEAD_S, first_at + self._options.paced_settle_s)
        return max(soonest, paced)

    def _next_wake(self) -> float:
        """Return when to continue, unless a page finishes first that must be settled sooner."""
        if not self._runs:
            return min(self._refresh_at, self._settle_at())
        return min(self._ask_at, self._settle_at(), self._refresh_at)

    async def _sleep_until(self, moment: float) -> None:
        if not self._is_stopping:
            self._wake.clear()
            self._wake_at = moment
            await self._wait(moment - self._clock.monotonic())
            self._wake_at = AT_ONCE

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
        slots = self._peers.usable_slots(self._slots)
        is_full = self._in_flight.in_flight - self._waiting_count(slots) >= slots
        if not is_full:
            self._next_ahead = self._clock.monotonic() + self._options.refresh_s
        return is_full

    async def _lease(self, *, finished: int = 0) -> float | None:
        """Lease for the free slots and those of finished pages; return when to ask again, on this worker's
        clock.

        Requests that only wait for bytes take no slot. An owner with too many of them gets nothing.
        """
        slots = self._peers.usable_slots(self._slots)
        want = slots - self._in_flight.held + self._waiting_count(slots) + finished
        held = activity.held_runs()
        runs = [run_id for run_id in self._runs if run_id not in held]
        if at_limit := self._waiting.owners_at_limit(slots, self._clock.monotonic()):
            runs = [one for one in runs if await self._opened.owner(self._runs[one]) not in at_limit]
        if want <= 0 or not runs or self._is_stopping:
            return None
        worker_id = self._heartbeat.worker_id
        own, ahead_s = self._peers.own, self._options.lease_ahead_s
        lease = self._context.frontier.lease
        batch = await lease(worker_id, want, runs, own, self._capabilities, ahead_s=ahead_s)
        reach("lease.committed")
        await self._start_all(batch.leases)
        self._in_flight.postpone_needs()
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
        if opened.session.cookies is not None:
            await opened.session.cookies.catch_up(lease.cookie_version)
        self._in_flight.start(lease, opened)
        return True

    async def _open_job(self, run: Run) -> OpenedJob | None:
        """Return the job of a run; None if it cannot be opened, which ends the run or this worker."""
        try:
            return await self._opened.job(run)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a bad run must not stop the others
            self._runs.pop(run.id, None)
            await self._source.refuse(run, error)
            return None

    async def _refresh_runs(self) -> None:
        """Refresh the list of runs and their tuning."""
        self._refresh_at = self._clock.monotonic() + self._options.refresh_s
        runs = {run.id: run for run in await self._source.poll()}
        if runs.keys() != self._runs.keys():
            self._ask_at = AT_ONCE
        self._runs = runs
        if not self._runs:
            self._refresh_at += self._options.refresh_s  # an idle worker polls half as often
        if self._follows:
            opened = [await self._open_job(run) for run in list(self._runs.values())]
            self._slots = sum(each.job.plan.concurrency for each in opened if each is not None)
        await self._in_flight.abandon(self._runs)
        await self._opened.retain(self._runs)

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
                    if self._is_settle_due():
                        await self._outage.call("work", self._in_flight.settle)
                if self._in_flight.finished:
                    await self._outage.call("work", self._in_flight.settle)
