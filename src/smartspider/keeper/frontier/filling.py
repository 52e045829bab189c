"""Offering open rows: all of a small run, the heads of the lanes of a large one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from smartspider.core.failpoints import reach
from smartspider.core.placing import Place
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.watch import Watch, side_by_side

HEAD = 1000
"""Rows of a lane that are offered at a time."""
LARGEST_HEAD = 64 * HEAD
PIECE = 500
WALKED = 20_000
"""A run with no more open rows than this is offered as a whole."""


class Offering:
    """Offers open rows of runs to shards. Whatever is live there stays as it is."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    async def offer(
        self, term: Term, run_id: int, shards: Collection[int], *, is_over: Callable[[], bool] = bool
    ) -> int:
        """Offer what a run has open to some shards, until `is_over`; how many were not live there."""
        offered, after, walked = 0, 0, 0
        while walked < WALKED:
            places = await self._watch.rows.places_after(run_id, after=after, limit=PIECE)
            offered += await self.send(term, run_id, places, shards)
            if len(places) < PIECE or is_over():
                return offered
            after, walked = places[-1].url_id, walked + len(places)
        for host in await self._watch.rows.lanes(run_id):
            if is_over():
                break
            if self._watch.index.shard_of(host) in shards:
                offered += (await self.fill(term, run_id, host, HEAD))[0]
        return offered

    async def send(self, term: Term, run_id: int, places: Sequence[Place], shards: Collection[int]) -> int:
        """Offer places to those of the shards they belong to."""
        groups: dict[int, list[Place]] = {}
        for place in places:
            if (shard := self._watch.index.shard_of(place.host)) in shards:
                groups.setdefault(shard, []).append(place)
        if not groups:
            return 0
        reach("keeper.replay")
        replay = self._watch.index.replay
        new = await side_by_side(replay(shard, term.epoch, run_id, group) for shard, group in groups.items())
        return sum(one for one in new if isinstance(one, int))

    async def fill(self, term: Term, run_id: int, host: str, limit: int) -> tuple[int, bool]:
        """Offer the best open rows of a lane; how many were not live, and whether the store has more."""
        head = await self._watch.rows.head(run_id, host, limit)
        has_more = len(head) >= limit  # rows that wait come on top
        shard = self._watch.index.shard_of(host)
        reach("keeper.refill")
        new = await self._watch.index.replay(shard, term.epoch, run_id, head, tails={host: has_more})
        return new, has_more


class FillLanes:
    """Offers new runs, and what lanes left in the store when their heads are nearly used up."""

    name, every_s = "filling", 0.25

    def __init__(self, watch: Watch, offering: Offering) -> None:
        self._watch = watch
        self._offering = offering
        self._limits: dict[tuple[int, str], int] = {}
        """Of lanes whose best rows are all leased or waiting, so that more of them have to be looked at."""

    async def do(self, term: Term) -> None:
        """Runs that want it, then lanes that are short."""
        watch = self._watch
        watch.attend(term)
        shards = list(watch.armed)
        if not shards:
            return
        for run_id in list(watch.wanting):
            watch.wanting.pop(run_id, None)  # before: who wants it meanwhile wants it once more
            try:
                await self._offering.offer(term, run_id, shards)
            except BaseException:
                watch.want(run_id)
                raise
        await side_by_side(self._refill(term, shard) for shard in shards)
        live = {control.run_id for control in watch.controls}
        self._limits = {lane: limit for lane, limit in self._limits.items() if lane[0] in live}

    async def _refill(self, term: Term, shard: int) -> None:
        cut = [run_id for run_id, held in self._watch.counts.get(shard, {}).items() if held.cut]
        for run_id in cut:
            for host in await self._watch.index.short_lanes(shard, run_id):
                await self._fill(term, run_id, host)

    async def _fill(self, term: Term, run_id: int, host: str) -> None:
        limit = self._limits.pop((run_id, host), HEAD)
        new, has_more = await self._offering.fill(term, run_id, host, limit)
        if not new and has_more:
            self._limits[run_id, host] = min(limit * 2, LARGEST_HEAD)


class FillWhenWanted(FillLanes):
    """The same, woken up by the first run there is."""

    async def do(self, term: Term) -> None:
        """Wait while there is no run, then do it."""
        self._watch.attend(term)
        await self._watch.until_wanted()
        await super().do(term)
