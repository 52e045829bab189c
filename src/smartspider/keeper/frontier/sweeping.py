"""The duty of going through all open rows, slowly: it mends what a worker left undone that died."""

from __future__ import annotations

import logging

from smartspider.core.runs.run import LEASES_IN
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.filling import PIECE, ShardLoader
from smartspider.keeper.frontier.state import FrontierState

log = logging.getLogger("smartspider.keeper")


class SweepOpenRows:
    """Offers every open row of the runs that are worked on, a piece at a time."""

    name, every_s = "sweep", 30.0
    pause_s = 0.25
    """Between two pieces: workers come first."""

    def __init__(self, state: FrontierState, loader: ShardLoader, clock: Clock) -> None:
        self._state = state
        self._loader = loader
        self._clock = clock

    async def do(self, term: Term) -> None:
        """Run by run."""
        self._state.begin_term(term)
        for control in list(self._state.controls):
            if control.state in LEASES_IN:
                await self._sweep(term, control.run_id)

    async def _sweep(self, term: Term, run_id: int) -> None:
        offered, after = 0, 0
        while places := await self._state.rows.places_after(run_id, after=after, limit=PIECE):
            offered += await self._loader.send(term, run_id, places, list(self._state.armed))
            if len(places) < PIECE:
                break
            after = places[-1].url_id
            await self._clock.sleep(self.pause_s)
        if offered and not self._state.run_counts(run_id).cut:
            log.info("run %d: %d open requests were not queued", run_id, offered)
