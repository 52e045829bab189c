"""A worker: requests in its hands, each worked on by itself, and one pump between them and the ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from smartspider.core.errors import NotFound, StoreUnavailable
from smartspider.core.failpoints import reach
from smartspider.core.lease import Lease, Token
from smartspider.core.runs import LIMIT, Run
from smartspider.core.workers import WorkerCard
from smartspider.engine.duty import Duty
from smartspider.engine.jobs import Job, Jobs, OpenedJob, OpenJob
from smartspider.engine.memory import resident_bytes
from smartspider.engine.processor import Processed
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.ledger import Ledger
from smartspider.interfaces.store import Store
from smartspider.interfaces.worker_registry import Beat, WorkerRegistry

SETTLE_PAGES = 64
SETTLE_S = 0.050
IDLE_S = 0.100
LOOK_S = 0.5
RENEW_S = 20.0
RECLAIM_S = 5.0
BEAT_S = 2.0
DRAIN_S = 8.0
"""How long a worker that was asked to stop waits for what is in flight."""


class Ground(msgspec.Struct, frozen=True):
    """What a worker stands on."""

    store: Store
    frontier: Frontier
    ledger: Ledger
    workers: WorkerRegistry
    clock: Clock
    bus: EventBus


class InHand(msgspec.Struct, frozen=True):
    """A request that is being worked on, and with which job."""

    lease: Lease
    opened: OpenedJob
    task: asyncio.Task[None]


class Worker:
    """Works on the runs of its duty until they are over, or until it is asked to stop.

    Without `slots` it has as many as the runs it was given may have in flight.
    """

    def __init__(
        self, ground: Ground, duty: Duty, open_job: OpenJob, card: WorkerCard, *, slots: int | None = None
    ) -> None:
        self._ground = ground
        self._clock = ground.clock
        self._duty = duty
        self._jobs = Jobs(open_job)
        self._card = card
        self._slots = slots or 0
        self._follows = slots is None
        self._worker_id = 0
        self._runs: dict[int, Run] = {}
        self._held: dict[Token, InHand] = {}
        self._done: list[Processed] = []
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._trouble: Exception | None = None
        self._next_look = self._next_renew = self._next_reclaim = self._next_beat = 0.0

    def stop(self) -> None:
        """Take no more work, finish what is in flight, give the rest back."""
        self._is_stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Work; come back when nothing of it is in this worker's hands any more."""
        self._worker_id = await self._ground.frontier.join(self._card)
        try:
            await self._pump()
            await self._drain()
        finally:
            tasks = [hand.task for hand in self._held.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._jobs.close()
            await self._ground.frontier.leave(self._worker_id)

    async def _work(self, lease: Lease, job: Job) -> None:
        try:
            processed = await job.processor.process(lease)
        except Exception as error:  # noqa: BLE001 - the pump raises it: nothing must end unseen
            self._trouble = error
            self._wake.set()
            return
        self._done.append(processed)
        if len(self._done) == 1 or self._is_settle_due():
            self._wake.set()

    async def _pump(self) -> None:
        """Settle and lease in turns until there is a reason to leave."""
        while not self._is_stopping:
            if self._trouble is not None:
                raise self._trouble
            if self._done:
                await self._gather()
                await self._settle()
            await self._look_after()
            next_at = await self._lease()
            if self._runs and not self._held and not self._done and next_at is None:
                await self._look()
            if not self._runs and not self._duty.is_endless:
                return
            await self._sleep_until(self._next_wake(next_at))

    def _is_settle_due(self) -> bool:
        """A whole group waits, or half of the slots have nothing to do."""
        idle = self._slots - (len(self._held) - len(self._done))
        return len(self._done) >= SETTLE_PAGES or idle * 2 >= self._slots

    async def _gather(self) -> None:
        """Wait a moment for more pages, so that they are settled together."""
        self._wake.clear()
        if not self._is_settle_due() and not self._is_stopping:
            await self._wait(SETTLE_S)

    def _next_wake(self, next_at: float | None) -> float:
        """When there is something to do again, unless a page comes first."""
        if not self._runs:
            return min(self._next_look, self._next_beat, self._next_reclaim)
        idle_until = self._clock.monotonic() + IDLE_S
        return idle_until if next_at is None else min(idle_until, next_at)

    async def _sleep_until(self, moment: float) -> None:
        if self._done or self._is_stopping:
            return
        self._wake.clear()
        await self._wait(moment - self._clock.monotonic())

    async def _wait(self, seconds: float) -> None:
        if seconds > 0.0:
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _settle(self) -> None:
        """Commit what was finished; only then are its links known and its leases over."""
        group, self._done = self._done, []
        report = await self._ground.ledger.settle([processed.settlement for processed in group])
        stored = set(report.stored)
        for processed in group:
            lease = processed.settlement.lease
            hand = self._held.pop(lease.token)
            hand.opened.users -= 1
            if processed.found is not None and lease.url_id in stored:
                hand.opened.job.links.remember(processed.found)
        for event in report.events:
            self._ground.bus.publish(event)

    async def _lease(self) -> float | None:
        """Fill the free slots; when to ask again, on this worker's clock."""
        want = self._slots - len(self._held)
        if want <= 0 or not self._runs or self._is_stopping:
            return None
        batch = await self._ground.frontier.lease(self._worker_id, want, list(self._runs))
        reach("lease.committed")
        refused = [lease for lease in batch.leases if not await self._take_on(lease)]
        if refused:
            await self._ground.frontier.release(refused)
        if batch.next_at is None:
            return None
        return self._clock.monotonic() + max(batch.next_at - batch.now, 0.001)

    async def _take_on(self, lease: Lease) -> bool:
        """Begin with a request; False when this worker cannot work on its run."""
        run = self._runs.get(lease.run_id)
        opened = await self._job_of(run) if run is not None else None
        if opened is None:
            return False
        opened.users += 1
        opened.job.links.admit(lease.request.host, lease.request.page)
        task = asyncio.create_task(self._work(lease, opened.job))
        self._held[lease.token] = InHand(lease, opened, task)
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

    async def _look_after(self) -> None:
        """What has to be done now and then."""
        now = self._clock.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + BEAT_S
            beat = Beat(self._slots, time.process_time(), resident_bytes())
            if await self._ground.workers.beat(self._worker_id, beat):
                self.stop()
        if now >= self._next_reclaim:
            self._next_reclaim = now + RECLAIM_S
            for event in await self._ground.frontier.reclaim():
                self._ground.bus.publish(event)
        if now >= self._next_renew:
            self._next_renew = now + RENEW_S
            if self._held:
                await self._ground.frontier.renew([hand.lease for hand in self._held.values()])
        if now >= self._next_look:
            await self._look()

    async def _look(self) -> None:
        """See which runs there are, with their knobs as they are turned now."""
        self._next_look = self._clock.monotonic() + LOOK_S
        self._runs = {run.id: run for run in await self._duty.look()}
        if self._follows:
            opened = [await self._job_of(run) for run in list(self._runs.values())]
            self._slots = sum(each.job.plan.concurrency for each in opened if each is not None)
        await self._give_up(await self._futile())
        await self._jobs.keep(self._runs)

    async def _futile(self) -> list[InHand]:
        """What is in hand of runs that will not store it."""
        others = {hand.lease.run_id for hand in self._held.values()} - self._runs.keys()
        futile = {run_id for run_id in others if await self._is_futile(run_id)}
        return [hand for hand in self._held.values() if hand.lease.run_id in futile]

    async def _is_futile(self, run_id: int) -> bool:
        try:
            run = await self._ground.store.get_run(run_id)
        except NotFound:
            return True
        return run.state == "cancelled" or run.reason.startswith(LIMIT)

    async def _give_up(self, hands: Sequence[InHand]) -> None:
        """Break off what is still being worked on, and give it back."""
        for hand in hands:
            hand.task.cancel()
        await asyncio.gather(*(hand.task for hand in hands), return_exceptions=True)
        given_up = [hand for hand in hands if hand.task.cancelled()]
        for hand in given_up:
            del self._held[hand.lease.token]
            hand.opened.users -= 1
        if given_up:
            await self._ground.frontier.release([hand.lease for hand in given_up])

    async def _drain(self) -> None:
        """Finish and settle what is in flight and can be stored; leaving gives back the rest."""
        self._runs = {}
        await self._give_up(await self._futile())
        give_up_at = self._clock.monotonic() + DRAIN_S
        while len(self._done) < len(self._held) and self._trouble is None:
            left = give_up_at - self._clock.monotonic()
            if left <= 0.0:
                break
            self._wake.clear()
            await self._wait(min(left, SETTLE_S))
        if self._done:
            await self._settle()
