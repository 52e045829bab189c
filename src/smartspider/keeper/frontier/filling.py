"""Offering open rows: all of a small run, the heads of the lanes of a large one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

import msgspec

from smartspider.core.failpoints import reach
from smartspider.core.frontier.updates import QueuePosition
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.state import FrontierState, gather_shards

HEAD = 1000
"""Rows of a lane that are offered at a time."""
LARGEST_HEAD = 64 * HEAD
PIECE = 500
WALKED = 20_000
"""A run with no more open rows than this is offered as a whole."""
ROWS = 20_000
"""Rows that are looked at with one statement, more or less."""
LANES = ROWS // HEAD
MOST_LANES = 2000
"""Lanes whose heads are looked at with one statement."""


class Filled(msgspec.Struct, frozen=True):
    """What came of offering the heads of lanes."""

    new: int
    """Rows that were not live."""
    rows: int
    longer: list[str]
    """Lanes of which the store has more."""


class ShardLoader:
    """Offers open rows of runs to shards. Whatever is live there stays as it is."""

    def __init__(self, state: FrontierState) -> None:
        self._state = state

    async def offer(
        self, term: Term, run_id: int, shards: Collection[int], *, is_expired: Callable[[], bool] = bool
    ) -> int:
        """Offer what a run has open to some shards, until `is_over`; how many were not live there."""
        offered, after, walked = 0, 0, 0
        while walked < WALKED:
            places = await self._state.rows.places_after(run_id, after=after, limit=PIECE)
            offered += await self.send(term, run_id, places, shards)
            if len(places) < PIECE or is_expired():
                return offered
            after, walked = places[-1].url_id, walked + len(places)
        return offered + await self._offer_heads(term, run_id, shards, is_expired)

    async def _offer_heads(
        self, term: Term, run_id: int, shards: Collection[int], is_expired: Callable[[], bool]
    ) -> int:
        """Many lanes at a time, the more the shorter they are."""
        offered, after, size = 0, "", LANES
        while not is_expired() and (hosts := await self._state.rows.lanes(run_id, after=after, limit=size)):
            own: dict[int, list[str]] = {}
            for host in hosts:
                if (shard := self._state.index.shard_of(host)) in shards:
                    own.setdefault(shard, []).append(host)
            rows = 0
            for shard, lanes in own.items():
                filled = await self.fill(term, run_id, shard, lanes, HEAD)
                offered, rows = offered + filled.new, rows + filled.rows
            after = hosts[-1]
            size = max(LANES, size // 2) if rows > ROWS else min(size * 2, MOST_LANES)
        return offered

    async def send(
        self, term: Term, run_id: int, places: Sequence[QueuePosition], shards: Collection[int]
    ) -> int:
        """Offer places to those of the shards they belong to."""
        groups: dict[int, list[QueuePosition]] = {}
        for place in places:
            if (shard := self._state.index.shard_of(place.host)) in shards:
                groups.setdefault(shard, []).append(place)
        if not groups:
            return 0
        reach("keeper.replay")
        replay = self._state.index.replay
        new = await gather_shards(replay(shard, term.epoch, run_id, group) for shard, group in groups.items())
        return sum(one for one in new if isinstance(one, int))

    async def fill(self, term: Term, run_id: int, shard: int, hosts: Sequence[str], limit: int) -> Filled:
        """Offer the best open rows of lanes of a shard."""
        heads = await self._state.rows.heads(run_id, hosts, limit)
        sizes = Counter(place.host for place in heads)
        tails = {host: sizes[host] >= limit for host in hosts}  # rows that wait come on top
        reach("keeper.refill")
        new = await self._state.index.replay(shard, term.epoch, run_id, heads, tails=tails)
        return Filled(new, len(heads), [host for host, has_more in tails.items() if has_more])


class FillLanes:
    """Offers new runs, and what lanes left in the store when their heads are nearly used up."""

    name, every_s = "filling", 0.25

    def __init__(self, state: FrontierState, loader: ShardLoader) -> None:
        self._state = state
        self._loader = loader
        self._limits: dict[tuple[int, str], int] = {}
        """Of lanes that were filled just now. Where one is short again, its best rows are leased or waiting,
        and more of them have to be looked at.
        """

    async def do(self, term: Term) -> None:
        """Runs that want it, then lanes that are short."""
        state = self._state
        state.begin_term(term)
        shards = list(state.armed)
        if not shards:
            return
        for run_id in list(state.fill_requests):
            state.fill_requests.pop(run_id, None)  # before: who wants it meanwhile wants it once more
            try:
                await self._loader.offer(term, run_id, shards)
            except BaseException:
                state.request_fill(run_id)
                raise
        filled = await gather_shards(self._refill(term, shard) for shard in shards)
        self._limits = {}
        for limits in filled:
            self._limits |= {} if isinstance(limits, BaseException) else limits

    async def _refill(self, term: Term, shard: int) -> dict[tuple[int, str], int]:
        """Lanes that are short, and how far to look where one is short again at once."""
        cut = [run_id for run_id, run_counts in self._state.counts.get(shard, {}).items() if run_counts.cut]
        limits: dict[tuple[int, str], int] = {}
        for run_id in cut:
            by_limit: dict[int, list[str]] = {}
            for host in await self._state.index.short_lanes(shard, run_id):
                by_limit.setdefault(self._limits.get((run_id, host), HEAD), []).append(host)
            for limit, hosts in by_limit.items():
                size = max(1, ROWS // limit)
                for start in range(0, len(hosts), size):
                    filled = await self._loader.fill(term, run_id, shard, hosts[start : start + size], limit)
                    wider = min(limit * 2, LARGEST_HEAD)
                    limits |= {(run_id, host): wider for host in filled.longer}
        return limits


class FillWhenWanted(FillLanes):
    """The same, woken up by the first run there is."""

    async def do(self, term: Term) -> None:
        """Wait while there is no run, then do it."""
        self._state.begin_term(term)
        await self._state.wait_for_request()
        await super().do(term)
