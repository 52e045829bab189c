"""A worker: one pump that fills its hands with requests of its runs, and settles what they finished."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.failpoints import reach
from smartspider.core.lease import Lease
from smartspider.core.runs import Run
from smartspider.core.workers import WorkerCard
from smartspider.engine.attendance import Attendance, Present
from smartspider.engine.duty import Duty
from smartspider.engine.form import OwnForm
from smartspider.engine.ground import Ground, Manner
from smartspider.engine.hands import Hands
from smartspider.engine.jobs import Jobs, OpenedJob, OpenJob
from smartspider.engine.patience import Patience, Pauses
from smartspider.engine.peers import Peers
from smartspider.interfaces.worker_registry import Orders

SETTLE_PAGES = 64
SETTLE_S = 0.050
IDLE_S = 0.100
QUICK_S = 0.100
"""A store that settles within this time is trusted with more than is in flight."""
LOOK_S = 0.5
DRAIN_S = 8.0
"""How long a worker that was asked to stop waits for what is in flight."""
LAST_S = 5.0
"""How long it may take after that to store what came."""


class Worker:
    """Works on the runs of its duty until they are over, or until it is asked to stop.

    Without `slots` it has as many as the runs it was given may have in flight.
    """

    def __init__(
        self,
        ground: Ground,
        duty: Duty,
        open_job: OpenJob,
        card: WorkerCard,
        *,
        slots: int | None = None,
        manner: Manner = Manner(),
    ) -> None:
        self._ground = ground
        self._clock = ground.clock
        self._patience = ground.patience or Patience(ground.clock, ground.bus, is_endless=False)
        self._duty = duty
        self._jobs = Jobs(open_job)
        self._slots = slots or 0
        self._follows = slots is None
        self._drain_s = manner.drain_s
        card = card if slots is None else msgspec.structs.replace(card, slots=slots)
        self._attendance = Attendance(ground, card, self._patience, manner)
        self._form = OwnForm()
        self._peers = Peers(ground.bus, is_placed=manner.is_placed)
        self._runs: dict[int, Run] = {}
        self._hands = Hands(ground, self._form, self._on_finished, self._on_trouble)
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._trouble: Exception | None = None
        self._next_look = 0.0
        self._leases_ahead = manner.leases_ahead
        self._next_ahead = 0.0

    def stop(self) -> None:
        """Take no more work, finish what is in flight, give the rest back."""
        self._is_stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Work; come back when nothing of it is in this worker's hands any more."""
        present = Present(self._hands.leases, self._own_slots, self._form, self._obey, self._on_trouble)
        async with self._attendance.kept(present):
            try:
                await self._pump()
                await self._drain()
            finally:
                await self._hands.drop()
                await self._jobs.close()

    def _own_slots(self) -> int | None:
        return self._slots if self._follows else None

    def _obey(self, orders: Orders) -> None:
        if orders.is_draining or orders.is_unknown:
            self.stop()
            return
        self._peers.heed(self._attendance.worker_id, orders.peers)
        if not self._follows and orders.slots != self._slots:
            self._slots = orders.slots
            self._wake.set()

    def _on_finished(self) -> None:
        if self._hands.finished == 1 or self._is_settle_due():
            self._wake.set()

    def _on_trouble(self, error: Exception) -> None:
        self._trouble = error
        self._wake.set()

    async def _pump(self) -> None:
        """Settle and lease in turns until there is a reason to leave.

        Where the store is away nothing is leased, and what is in hand is kept until it can be settled.
        """
        pauses = Pauses()
        while not self._is_stopping:
            if self._trouble is not None:
                raise self._trouble
            try:
                next_at = await self._turn()
            except StoreUnavailable as error:
                self._patience.failed("work", error)
                await self._hold_on(pauses.next_s())
                continue
            self._patience.worked("work")
            pauses.reset()
            if not self._runs and not self._duty.is_endless:
                return
            await self._sleep_until(self._next_wake(next_at))

    async def _turn(self) -> float | None:
        """Settle what is finished, then take what is there; when to ask again, on this worker's clock."""
        is_full = False
        if self._hands.finished:
            await self._gather()
            is_full = await self._lease_ahead()
            await self._hands.settle()
        if self._clock.monotonic() >= self._next_look:
            await self._look()
        next_at = None if is_full else await self._lease()
        if self._runs and not self._hands.held and next_at is None:
            await self._look()
        return next_at

    def _is_settle_due(self) -> bool:
        """A whole group waits, or half of the slots have nothing to do."""
        places = self._peers.places(self._slots)
        idle = places - self._hands.in_flight
        return self._hands.finished >= SETTLE_PAGES or idle * 2 >= places

    async def _gather(self) -> None:
        """Wait a moment for more pages, so that they are settled together."""
        self._wake.clear()
        if not self._is_settle_due() and not self._is_stopping:
            await self._wait(SETTLE_S)

    def _next_wake(self, next_at: float | None) -> float:
        """When there is something to do again, unless a page comes first."""
        if not self._runs:
            return self._next_look
        idle_until = self._clock.monotonic() + IDLE_S
        return idle_until if next_at is None else min(idle_until, next_at)

    async def _sleep_until(self, moment: float) -> None:
        if self._hands.finished or self._is_stopping:
            return
        self._wake.clear()
        await self._wait(moment - self._clock.monotonic())

    async def _hold_on(self, seconds: float) -> None:
        """Wait, whatever comes meanwhile, unless there is a reason to leave."""
        until = self._clock.monotonic() + seconds
        while not self._is_stopping and self._trouble is None and self._clock.monotonic() < until:
            self._wake.clear()
            await self._wait(until - self._clock.monotonic())

    async def _wait(self, seconds: float) -> None:
        if seconds > 0.0:
            due_at = self._clock.monotonic() + seconds
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                self._form.late(self._clock.monotonic() - due_at)

    async def _lease_ahead(self) -> bool:
        """Fill the slots whose pages are finished, so that they do not wait for the store; whether all are.

        So at most twice as many requests as slots are in hand. Where there are no more to be had before
        these are settled, as by the limits of a run, that is not tried again for a while.
        """
        is_slow = self._hands.settle_s > QUICK_S  # what it fetched would only wait for the store
        if not self._leases_ahead or is_slow or self._clock.monotonic() < self._next_ahead:
            return False
        with contextlib.suppress(StoreUnavailable):  # settling will find out
            await self._lease(finished=min(self._hands.finished, self._peers.places(self._slots)))
        is_full = self._hands.in_flight >= self._peers.places(self._slots)
        if not is_full:
            self._next_ahead = self._clock.monotonic() + LOOK_S
        return is_full

    async def _lease(self, *, finished: int = 0) -> float | None:
        """Fill the free slots, and those of finished pages; when to ask again, on this worker's clock."""
        want = self._peers.places(self._slots) - self._hands.held + finished
        if want <= 0 or not self._runs or self._is_stopping:
            return None
        worker_id, runs = self._attendance.worker_id, list(self._runs)
        batch = await self._ground.frontier.lease(worker_id, want, runs, self._peers.own)
        reach("lease.committed")
        await self._take_on_all(batch.leases)
        if batch.next_at is None:
            return None
        return self._clock.monotonic() + max(batch.next_at - batch.now, 0.001)

    async def _take_on_all(self, leases: Sequence[Lease]) -> None:
        """Begin with requests; what this worker cannot work on, or not now, it gives back."""
        left = list(leases)
        refused: list[Lease] = []
        try:
            while left:
                if not await self._take_on(left[0]):
                    refused.append(left[0])
                del left[0]
        finally:
            if refused or left:
                await self._ground.frontier.release([*refused, *left])

    async def _take_on(self, lease: Lease) -> bool:
        """Begin with a request; False when this worker cannot work on its run."""
        run = self._runs.get(lease.run_id)
        opened = await self._job_of(run) if run is not None else None
        if opened is None:
            return False
        self._hands.begin(lease, opened)
        return True

    async def _job_of(self, run: Run) -> OpenedJob | None:
        """The job of a run; None when it cannot be opened here, which ends the run or this worker."""
        try:
            return await self._jobs.of(run)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one run that is wrong must not cost the others their worker
            self._runs.pop(run.id, None)
            await self._duty.refuse(run, error)
            return None

    async def _look(self) -> None:
        """See which runs there are, with their knobs as they are turned now."""
        self._next_look = self._clock.monotonic() + LOOK_S
        self._runs = {run.id: run for run in await self._duty.look()}
        if not self._runs:
            self._next_look += LOOK_S  # who has nothing to do looks half as often
        if self._follows:
            opened = [await self._job_of(run) for run in list(self._runs.values())]
            self._slots = sum(each.job.plan.concurrency for each in opened if each is not None)
        await self._hands.give_up(self._runs)
        await self._jobs.keep(self._runs)

    async def _drain(self) -> None:
        """Finish and settle what is in flight and can be stored; leaving gives back the rest."""
        self._runs = {}
        drain_s = DRAIN_S if self._drain_s is None else self._drain_s
        give_up_at = self._clock.monotonic() + drain_s
        is_patient = self._patience.is_endless
        # What was not stored by then is fetched again by somebody else.
        with contextlib.suppress(*((TimeoutError,) if is_patient else ())):
            async with asyncio.timeout(drain_s + LAST_S if is_patient else None):
                await self._patience.insist("work", lambda: self._hands.give_up(()))
                while self._hands.in_flight and self._trouble is None:
                    left = give_up_at - self._clock.monotonic()
                    if left <= 0.0:
                        break
                    self._wake.clear()
                    await self._wait(min(left, SETTLE_S))
                    if self._is_settle_due() and self._hands.finished:
                        await self._patience.insist("work", self._hands.settle)
                if self._hands.finished:
                    await self._patience.insist("work", self._hands.settle)
