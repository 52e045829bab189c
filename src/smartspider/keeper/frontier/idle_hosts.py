"""The duty of letting go of hosts that nobody asks for: broad crawls meet more than they come back to."""

from __future__ import annotations

from smartspider.core.errors import FrontierUnavailable
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.state import FrontierState

SHARE = 0.05
"""The part of the time that may go into it."""
LONGEST_PAUSE_S = 0.5
IDLE_S = 300.0


class EvictIdleHosts:
    """Looks at all hosts a piece at a time, often while there are any to let go."""

    name = "idle hosts"

    def __init__(self, state: FrontierState, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self.every_s = 30.0

    async def do(self, term: Term) -> None:
        """Shard by shard; one that does not serve is seen to by its arming."""
        self._state.begin_term(term)
        gone = 0
        for shard in list(self._state.armed):
            try:
                gone += await self._evict(term, shard)
            except FrontierUnavailable:
                continue
        self.every_s = 30.0 if gone or self._state.controls else IDLE_S

    async def _evict(self, term: Term, shard: int) -> int:
        cursor, gone = "", 0
        while True:
            began_at = self._clock.monotonic()
            cursor, went = await self._state.index.evict_idle_hosts(shard, term.epoch, cursor)
            gone += went
            if not cursor:
                return gone
            took_s = self._clock.monotonic() - began_at
            await self._clock.sleep(min(took_s / SHARE, LONGEST_PAUSE_S))
