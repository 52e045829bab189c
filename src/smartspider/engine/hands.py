"""What a worker has in its hands: requests from their lease to their settlement, each worked on by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence

import msgspec

from smartspider.core.errors import NotFound
from smartspider.core.lease import Lease, Token
from smartspider.core.runs import LIMIT
from smartspider.engine.form import OwnForm
from smartspider.engine.ground import Ground
from smartspider.engine.jobs import Job, OpenedJob
from smartspider.engine.processor import Processed


class InHand(msgspec.Struct, frozen=True):
    """A request that is being worked on, and with which job."""

    lease: Lease
    opened: OpenedJob
    task: asyncio.Task[None]


class Hands:
    """Begins with requests, settles what is finished and gives back what nobody will store.

    `on_finished` is called when a request can be settled, `on_trouble` with what must not go unseen.
    """

    def __init__(
        self,
        ground: Ground,
        form: OwnForm,
        on_finished: Callable[[], None],
        on_trouble: Callable[[Exception], None],
    ) -> None:
        self._ground = ground
        self._form = form
        self._on_finished = on_finished
        self._on_trouble = on_trouble
        self._held: dict[Token, InHand] = {}
        self._done: list[Processed] = []
        self.settle_s = 0.0
        """How long the last settle took; endless where it failed."""

    @property
    def held(self) -> int:
        """How many there are, finished ones among them."""
        return len(self._held)

    @property
    def finished(self) -> int:
        """How many wait to be settled."""
        return len(self._done)

    @property
    def in_flight(self) -> int:
        """How many are being worked on."""
        return len(self._held) - len(self._done)

    def leases(self) -> list[Lease]:
        """All leases that are held."""
        return [hand.lease for hand in self._held.values()]

    def begin(self, lease: Lease, opened: OpenedJob) -> None:
        """Begin with a request."""
        opened.users += 1
        opened.job.links.admit(lease.request.host, lease.request.page)
        task = asyncio.create_task(self._work(lease, opened.job))
        self._held[lease.token] = InHand(lease, opened, task)

    async def _work(self, lease: Lease, job: Job) -> None:
        try:
            processed = await job.processor.process(lease)
        except Exception as error:  # noqa: BLE001 - the worker raises it: nothing must end unseen
            self._on_trouble(error)
            return
        self._done.append(processed)
        self._on_finished()

    async def settle(self) -> None:
        """Commit what was finished; only then are its links known and its leases over."""
        clock = self._ground.clock
        group = list(self._done)
        began_at, self.settle_s = clock.monotonic(), float("inf")
        report = await self._ground.ledger.settle([processed.settlement for processed in group])
        self.settle_s = clock.monotonic() - began_at
        del self._done[: len(group)]
        self._form.settled((processed.settlement for processed in group), len(report.stored))
        stored = set(report.stored)
        for processed in group:
            lease = processed.settlement.lease
            hand = self._held.pop(lease.token)
            hand.opened.users -= 1
            if processed.found is not None and lease.url_id in stored:
                hand.opened.job.links.remember(processed.found)
        for event in report.events:
            self._ground.bus.publish(event)

    async def give_up(self, runs: Container[int]) -> None:
        """Break off what nobody will store, and give it back; what is of one of `runs` goes on."""
        others = {hand.lease.run_id for hand in self._held.values() if hand.lease.run_id not in runs}
        futile = {run_id for run_id in others if await self._is_futile(run_id)}
        hands = [hand for hand in self._held.values() if hand.lease.run_id in futile]
        await _break_off(hands)
        given_up = [hand for hand in hands if hand.task.cancelled()]
        for hand in given_up:
            del self._held[hand.lease.token]
            hand.opened.users -= 1
        if given_up:
            await self._ground.frontier.release([hand.lease for hand in given_up])

    async def _is_futile(self, run_id: int) -> bool:
        try:
            run = await self._ground.store.get_run(run_id)
        except NotFound:
            return True
        return run.state == "cancelled" or run.reason.startswith(LIMIT)

    async def drop(self) -> None:
        """Break off everything; who leaves gives it back."""
        await _break_off(list(self._held.values()))


async def _break_off(hands: Sequence[InHand]) -> None:
    for hand in hands:
        hand.task.cancel()
    await asyncio.gather(*(hand.task for hand in hands), return_exceptions=True)
