"""A worker: slots that process leases, and one pump between them and the ledger."""

from __future__ import annotations

import asyncio

import msgspec

from smartspider.core.events import LeasesReturned
from smartspider.core.failpoints import reach
from smartspider.core.lease import Lease, Token
from smartspider.core.runs import LIMIT, Run
from smartspider.engine.links import LinkFilter
from smartspider.engine.processor import Processed, Processor
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.ledger import Ledger
from smartspider.interfaces.store import Store

SETTLE_PAGES = 64
SETTLE_S = 0.050
IDLE_S = 0.100
LOOK_S = 0.5
RENEW_S = 20.0
RECLAIM_S = 5.0
DRAIN_S = 8.0
"""How long a worker that was asked to stop waits for what is in flight."""


class Ground(msgspec.Struct, frozen=True):
    """What a worker stands on."""

    store: Store
    frontier: Frontier
    ledger: Ledger
    clock: Clock
    bus: EventBus


class Worker:
    """Works on one run until it is over, paused, or the worker is asked to stop."""

    def __init__(
        self, ground: Ground, run_id: int, processor: Processor, links: LinkFilter, *, name: str, slots: int
    ) -> None:
        self._ground = ground
        self._clock = ground.clock
        self._run_id = run_id
        self._processor = processor
        self._links = links
        self._name = name
        self._slots = slots
        self._worker_id = 0
        self._todo: asyncio.Queue[Lease] = asyncio.Queue()
        self._done: list[Processed] = []
        self._held: dict[Token, Lease] = {}
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._trouble: Exception | None = None
        self._next_look = self._next_renew = self._next_reclaim = 0.0

    def stop(self) -> None:
        """Take no more work, finish what is in flight, give the rest back."""
        self._is_stopping = True
        self._wake.set()

    async def run(self) -> Run:
        """Work; the run as it stands when this worker leaves it."""
        self._worker_id = await self._ground.frontier.join(self._name)
        slots = [asyncio.create_task(self._slot(), name=f"slot {number}") for number in range(self._slots)]
        try:
            await self._pump()
            await self._drain()
        finally:
            for slot in slots:
                slot.cancel()
            await asyncio.gather(*slots, return_exceptions=True)
            await self._ground.frontier.leave(self._worker_id)
        return await self._ground.store.finish(self._run_id)

    async def _slot(self) -> None:
        while True:
            try:
                processed = await self._processor.process(await self._todo.get())
            except Exception as error:  # noqa: BLE001 - the pump raises it: a slot must not die unseen
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
            if not await self._look_after():
                return
            next_at = await self._lease()
            if not self._held and not self._done and next_at is None and await self._is_over():
                return
            idle_until = self._clock.monotonic() + IDLE_S
            await self._sleep_until(idle_until if next_at is None else min(idle_until, next_at))

    def _is_settle_due(self) -> bool:
        """A whole group waits, or half of the slots have nothing to do."""
        idle = self._slots - (len(self._held) - len(self._done))
        return len(self._done) >= SETTLE_PAGES or idle * 2 >= self._slots

    async def _gather(self) -> None:
        """Wait a moment for more pages, so that they are settled together."""
        self._wake.clear()
        if not self._is_settle_due() and not self._is_stopping:
            await self._wait(SETTLE_S)

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
        """Commit what the slots have finished; only then are its links known and its leases over."""
        group, self._done = self._done, []
        report = await self._ground.ledger.settle([processed.settlement for processed in group])
        stored = set(report.stored)
        for processed in group:
            lease = processed.settlement.lease
            self._held.pop(lease.token, None)
            if processed.found is not None and lease.url_id in stored:
                self._links.remember(processed.found)
        for event in report.events:
            self._ground.bus.publish(event)

    async def _lease(self) -> float | None:
        """Fill the free slots; when to ask again, on this worker's clock."""
        want = self._slots - len(self._held)
        if want <= 0 or self._is_stopping:
            return None
        batch = await self._ground.frontier.lease(self._worker_id, want, [self._run_id])
        reach("lease.committed")
        for lease in batch.leases:
            self._held[lease.token] = lease
            self._links.admit(lease.request.host, lease.request.page)
            self._todo.put_nowait(lease)
        if batch.next_at is None:
            return None
        return self._clock.monotonic() + max(batch.next_at - batch.now, 0.001)

    async def _look_after(self) -> bool:
        """What has to be done now and then; False when the run no longer runs."""
        now = self._clock.monotonic()
        if now >= self._next_reclaim:
            self._next_reclaim = now + RECLAIM_S
            for worker, count in (await self._ground.frontier.reclaim()).items():
                self._ground.bus.publish(LeasesReturned(self._run_id, count, worker))
        if now >= self._next_renew:
            self._next_renew = now + RENEW_S
            if self._held:
                await self._ground.frontier.renew(list(self._held.values()))
        if now >= self._next_look:
            self._next_look = now + LOOK_S
            return not await self._is_over()
        return True

    async def _is_over(self) -> bool:
        return (await self._ground.store.finish(self._run_id)).state != "running"

    async def _drain(self) -> None:
        """Give back what was not begun, finish and settle what is in flight; leaving gives back the rest."""
        unbegun = [self._todo.get_nowait() for _ in range(self._todo.qsize())]
        for lease in unbegun:
            self._held.pop(lease.token, None)
        await self._ground.frontier.release(unbegun)
        if not _is_futile(await self._ground.store.get_run(self._run_id)):
            await self._wait_for_slots()
        if self._done:
            await self._settle()

    async def _wait_for_slots(self) -> None:
        give_up_at = self._clock.monotonic() + DRAIN_S
        while len(self._done) < len(self._held) and self._trouble is None:
            left = give_up_at - self._clock.monotonic()
            if left <= 0.0:
                return
            self._wake.clear()
            await self._wait(min(left, SETTLE_S))


def _is_futile(run: Run) -> bool:
    """Whether nothing that is in flight can be stored any more."""
    return run.state == "cancelled" or run.reason.startswith(LIMIT)
