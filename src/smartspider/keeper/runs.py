"""Duties about runs: reclaim leases, complete runs, restore lost requests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.failpoints import reach
from smartspider.interfaces.frontier import Frontier, FrontierReplay
from smartspider.interfaces.leadership import Term
from smartspider.store.runs.store import RunStore

USUAL_S = 2.0
SOON_S = 0.25

log = logging.getLogger("smartspider.keeper")


class ReclaimLeases:
    """Reclaims the leases of dead or silent workers."""

    name = "reclaim"

    def __init__(self, frontier: Frontier, *, every_s: float = 2.0) -> None:
        self._frontier = frontier
        self.every_s = every_s

    async def do(self, term: Term) -> None:  # noqa: ARG002 - idempotent
        """Reclaim; other duties report an unavailable frontier."""
        with contextlib.suppress(FrontierUnavailable):
            await self._frontier.reclaim()


class CompleteRuns:
    """Ends runs that have nothing left to fetch, were stopped, or reached their time limit."""

    name = "completion"
    check_all_every = 5
    """Every so many rounds all live runs are checked, so that they report progress."""

    def __init__(self, store: RunStore, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._round = 0
        self._deadline_at = math.inf
        """The next time limit of a run."""

    @property
    def every_s(self) -> float:
        """Shorter when a time limit is near."""
        return SOON_S if self._deadline_at < self._now() + USUAL_S else USUAL_S

    async def do(self, term: Term) -> None:
        """End live runs that may be finished."""
        self._round += 1
        is_thorough = self._round % self.check_all_every == 0
        live = await self._store.live_runs()
        for run in live:
            if run.state == "stopping" or (
                run.state == "running"
                and (is_thorough or run.counters.open == 0 or self._now() >= run.deadline_at)
            ):
                reach("keeper.complete")
                await self._store.finish(run.id, epoch=term.epoch)
        self._deadline_at = min(
            (run.deadline_at for run in live if run.deadline_at > self._now()), default=math.inf
        )


class ReplayOpenRows:
    """Offers open rows that are missing in the frontier: the repair after any failure.

    Checks when the lead is taken, and rarely after that.
    """

    name, every_s = "replay", 600.0
    pause_s = 0.05

    def __init__(self, store: RunStore, frontier: Frontier, replay: FrontierReplay) -> None:
        self._store = store
        self._frontier = frontier
        self._replay = replay

    async def do(self, term: Term) -> None:  # noqa: ARG002 - offering is idempotent
        """Check every live run."""
        for run in await self._store.live_runs():
            if not await self._replay.is_whole(run.id):
                offered = await self._offer(run.id)
                log.warning("run %d: %d open requests were not queued", run.id, offered)

    async def _offer(self, run_id: int) -> int:
        offered, after = 0, 0
        while piece := await self._replay.open_rows(run_id, after=after):
            offered += await self._frontier.offer(run_id, piece)
            after = piece[-1]
            await asyncio.sleep(self.pause_s)  # workers have priority
        return offered
