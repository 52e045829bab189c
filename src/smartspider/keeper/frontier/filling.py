"""Offer open rows to the frontier: all of a small run, the heads of the lanes of a large one."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import msgspec

from smartspider.core.failpoints import reach
from smartspider.core.frontier.updates import QueuePosition
from smartspider.core.runs.run import LEASES_IN
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.state import FrontierState, gather_shards

log = logging.getLogger("smartspider.keeper")


class FillSizes(msgspec.Struct, frozen=True):
    """Sizes of the steps in which open rows are offered."""

    head: int = 1000
    """Rows of a lane offered at a time."""
    largest_head: int = 64_000
    piece: int = 500
    """Rows read and offered at a time when a run is offered as a whole."""
    whole_run: int = 20_000
    """A run with at most so many open rows is offered as a whole."""
    rows: int = 20_000
    """Approximate rows per statement."""
    lanes: int = 20
    """Lanes per statement at first."""
    most_lanes: int = 2000
    """Maximum lanes per statement."""


class Filled(msgspec.Struct, frozen=True):
    """The result of offering the heads of lanes."""

    new: int
    """Rows that were not live."""
    rows: int
    longer: list[str]
    """Lanes with more rows in the store."""


class ShardLoader:
    """Offers open rows of runs to shards. Live ones stay as they are."""

    def __init__(self, state: FrontierState, sizes: FillSizes = FillSizes()) -> None:
        self._state = state
        self.sizes = sizes

    async def offer(
        self, term: Term, run_id: int, shards: Collection[int], *, is_expired: Callable[[], bool] = bool
    ) -> int:
        """Offer the open rows of a run to some shards until `is_expired`; return how many were not live."""
        offered, after, walked = 0, 0, 0
        while walked < self.sizes.whole_run:
            positions = await self._state.rows.places_after(run_id, after=after, limit=self.sizes.piece)
            offered += await self.send(term, run_id, positions, shards)
            if len(positions) < self.sizes.piece or is_expired():
                return offered
            after, walked = positions[-1].url_id, walked + len(positions)
        return offered + await self._offer_heads(term, run_id, shards, is_expired)

    async def _offer_heads(
        self, term: Term, run_id: int, shards: Collection[int], is_expired: Callable[[], bool]
    ) -> int:
        """Offer the heads of lanes, more lanes at a time the shorter they are."""
        offered, after, size = 0, "", self.sizes.lanes
        while not is_expired() and (hosts := await self._state.rows.lanes(run_id, after=after, limit=size)):
            own: dict[int, list[str]] = {}
            for host in hosts:
                if (shard := self._state.index.shard_of(host)) in shards:
                    own.setdefault(shard, []).append(host)
            rows = 0
            for shard, lanes in own.items():
                filled = await self.fill(term, run_id, shard, lanes, self.sizes.head)
                offered, rows = offered + filled.new, rows + filled.rows
            after = hosts[-1]
            size = (
                max(self.sizes.lanes, size // 2)
                if rows > self.sizes.rows
                else min(size * 2, self.sizes.most_lanes)
            )
        return offered

    async def send(
        self, term: Term, run_id: int, positions: Sequence[QueuePosition], shards: Collection[int]
    ) -> int:
        """Offer positions to those of `shards` that their hosts belong to."""
        groups: dict[int, list[QueuePosition]] = {}
        for position in positions:
            if (shard := self._state.index.shard_of(position.host)) in shards:
                groups.setdefault(shard, []).append(position)
        if not groups:
            return 0
        reach("keeper.replay")
        replay = self._state.index.replay
        new = await gather_shards(replay(shard, term.epoch, run_id, group) for shard, group in groups.items())
        return sum(one for one in new if isinstance(one, int))

    async def fill(self, term: Term, run_id: int, shard: int, hosts: Sequence[str], limit: int) -> Filled:
        """Offer the best open rows of lanes of a shard."""
        heads = await self._state.rows.heads(run_id, hosts, limit)
        sizes = Counter(position.host for position in heads)
        tails = {host: sizes[host] >= limit for host in hosts}  # waiting rows come on top
        reach("keeper.refill")
        new = await self._state.index.replay(shard, term.epoch, run_id, heads, tails=tails)
        return Filled(new, len(heads), [host for host, has_more in tails.items() if has_more])


class FillLanes:
    """Offers new runs, and refills lanes whose heads are nearly used up."""

    name, every_s = "filling", 0.25

    def __init__(self, state: FrontierState, loader: ShardLoader) -> None:
        self._state = state
        self._loader = loader
        self._limits: dict[tuple[int, str], int] = {}
        """Limits of lanes filled in the last round. If one is short again, its best rows are leased or
        waiting, and more of them must be read.
        """

    async def do(self, term: Term) -> None:
        """Offer requested runs, then refill short lanes."""
        state = self._state
        state.begin_term(term)
        shards = list(state.armed)
        if not shards:
            return
        for run_id in list(state.fill_requests):
            state.fill_requests.pop(run_id, None)  # first, so that a request made meanwhile is kept
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
        """Refill short lanes; return the limits for lanes that may be short again."""
        cut = [run_id for run_id, run_counts in self._state.counts.get(shard, {}).items() if run_counts.cut]
        limits: dict[tuple[int, str], int] = {}
        for run_id in cut:
            by_limit: dict[int, list[str]] = {}
            for host in await self._state.index.short_lanes(shard, run_id):
                by_limit.setdefault(self._limits.get((run_id, host), self._loader.sizes.head), []).append(
                    host
                )
            for limit, hosts in by_limit.items():
                size = max(1, self._loader.sizes.rows // limit)
                for start in range(0, len(hosts), size):
                    filled = await self._loader.fill(term, run_id, shard, hosts[start : start + size], limit)
                    wider = min(limit * 2, self._loader.sizes.largest_head)
                    limits |= {(run_id, host): wider for host in filled.longer}
        return limits


class FillWhenWanted(FillLanes):
    """The same, but waits without polling while there is no run."""

    async def do(self, term: Term) -> None:
        """Wait for a run, then fill."""
        self._state.begin_term(term)
        await self._state.wait_for_request()
        await super().do(term)


class SweepOpenRows:
    """Offers every open row of live runs, in steps."""

    name, every_s = "sweep", 30.0
    pause_s = 0.25
    """Pause between steps: workers have priority."""

    def __init__(self, state: FrontierState, loader: ShardLoader, clock: Clock) -> None:
        self._state = state
        self._loader = loader
        self._clock = clock

    async def do(self, term: Term) -> None:
        """Sweep each run."""
        self._state.begin_term(term)
        for control in list(self._state.controls):
            if control.state in LEASES_IN:
                await self._sweep(term, control.run_id)

    async def _sweep(self, term: Term, run_id: int) -> None:
        offered, after = 0, 0
        while positions := await self._state.rows.places_after(
            run_id, after=after, limit=self._loader.sizes.piece
        ):
            offered += await self._loader.send(term, run_id, positions, list(self._state.armed))
            if len(positions) < self._loader.sizes.piece:
                break
            after = positions[-1].url_id
            await self._clock.sleep(self.pause_s)
        if offered and not self._state.run_counts(run_id).cut:
            log.info("run %d: queued %d open requests that were missing from the frontier", run_id, offered)
