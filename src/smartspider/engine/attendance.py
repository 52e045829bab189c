"""A worker as others see it: there from joining to leaving, with what it holds."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.lease import Lease
from smartspider.core.workers import WorkerCard
from smartspider.engine.chores import Chore, chores_done
from smartspider.engine.form import OwnForm
from smartspider.engine.ground import Ground, Manner
from smartspider.engine.memory import resident_bytes
from smartspider.engine.patience import Patience
from smartspider.interfaces.worker_registry import Beat, Orders

BEAT_S = 1.8
"""What a worker is told with the answer, it hears in less than two seconds."""
RENEW_S = 20.0
RECLAIM_S = 5.0
LEAVE_S = 5.0
"""How long it may take to say goodbye."""


class Present(msgspec.Struct, frozen=True):
    """What a worker is asked for, and told."""

    held: Callable[[], list[Lease]]
    slots: Callable[[], int | None]
    """How many it has; None: as many as it is told."""
    form: OwnForm
    """How it does; how late it is said to be there counts."""
    obey: Callable[[Orders], None]
    on_trouble: Callable[[Exception], None]
    """Something ended that must not end."""


class Attendance:
    """Joins, says now and then that its worker is alive and what it holds, renews that, and leaves."""

    def __init__(self, ground: Ground, card: WorkerCard, patience: Patience, manner: Manner) -> None:
        self.worker_id = 0
        self._ground = ground
        self._card = card
        self._patience = patience
        self._manner = manner
        self._beat_at = float("inf")

    @asynccontextmanager
    async def kept(self, present: Present) -> AsyncIterator[None]:
        """The worker is there as long as the block lasts; all this goes on whatever it waits for."""
        await self._join()
        try:
            chores = self._chores(present)
            async with chores_done(chores, self._ground.clock, self._patience, present.on_trouble):
                yield
        finally:
            await self._leave()

    def _chores(self, present: Present) -> list[Chore]:
        chores = [
            Chore("beat", BEAT_S, lambda: self._beat(present)),
            Chore("renew", self._manner.renew_s or RENEW_S, lambda: self._renew(present.held())),
        ]
        return [*chores, Chore("reclaim", RECLAIM_S, self._reclaim)] if self._manner.reclaims else chores

    async def _join(self) -> None:
        join = self._ground.frontier.join
        self.worker_id = await self._patience.insist("join", lambda: join(self._card))

    async def _leave(self) -> None:
        """What cannot be said now is seen by others: a worker that is silent is gone."""
        if not self._patience.is_endless:
            await self._ground.frontier.leave(self.worker_id)
            return
        with contextlib.suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self._ground.frontier.leave(self.worker_id)

    async def _beat(self, present: Present) -> None:
        monotonic = self._ground.clock.monotonic
        present.form.late(monotonic() - self._beat_at)
        cpu_s, held = time.process_time(), present.held()
        beat = Beat(present.slots(), cpu_s, resident_bytes(), held, present.form.look())
        try:
            orders = await self._ground.workers.beat(self.worker_id, beat)
        finally:
            self._beat_at = monotonic() + BEAT_S
        if orders.is_unknown and self._patience.is_endless:
            await self._join()  # it was silent for too long; what it holds may be stored nevertheless
        else:
            present.obey(orders)

    async def _renew(self, held: list[Lease]) -> None:
        """A lease that is lost is finished anyway: the first commit of a page wins."""
        if held:
            await self._ground.frontier.renew(held)

    async def _reclaim(self) -> None:
        for event in await self._ground.frontier.reclaim():
            self._ground.bus.publish(event)
