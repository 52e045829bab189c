"""The leader's view of the frontier on Redis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from smartspider.backends.redis.calls import BATCH, LANE_CAP, batches, control_args, host_args, place_args
from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.errors import SmartSpiderError
from smartspider.core.frontier.updates import HostRow, QueuePosition, RunControl
from smartspider.interfaces.frontier_index import IndexCounts, RefusalCounts, ShardState, SlotLead

FORGET = 2
"""Result of a shard that holds data it should not."""
CALLS_PER_TRIP = 8
"""Calls in one round trip: workers get their turn in between."""
NEARLY_USED_UP = 4
"""A head is short if less than this fraction of it is left (one n-th)."""


class RedisIndex:
    """See `interfaces/frontier_index.py`."""

    def __init__(self, shards: Shards, *, cap: int = LANE_CAP) -> None:
        self._shards = shards
        self._cap = cap

    @property
    def shards(self) -> int:
        """The number of shards."""
        return self._shards.count

    async def shard_states(self) -> list[ShardState | None]:
        """Return the state of every shard."""
        answers = await self._shards.round([Call(shard, "look") for shard in range(self.shards)])
        return [_state(shard, answer) for shard, answer in enumerate(answers)]

    async def shard_state(self, shard: int) -> ShardState | None:
        """Return the state of one shard."""
        (answer,) = await self._shards.round([Call(shard, "look")])
        return _state(shard, answer)

    async def begin(self, shard: int, epoch: int, store_now: float | None = None) -> None:
        """Announce that a shard will be armed; until then it serves no calls."""
        args_ = () if store_now is None else (repr(float(store_now)),)
        if await self._shards.call(shard, "begin", epoch, *args_) == FORGET:
            cursor = b"0"
            while (cursor := await self._shards.call(shard, "forget", epoch, cursor)) != b"0":
                pass

    async def arm(self, shard: int, epoch: int, store_now: float, lead: SlotLead = SlotLead()) -> float:
        """Arm a shard or renew its arming. Return the longest lead requested since the last call."""
        args_ = (repr(float(store_now)), repr(lead.lead_s), repr(lead.reach_s))
        _, wanted = await self._shards.call(shard, "arm", epoch, *args_)
        return float(wanted)

    async def disarm(self, shard: int, epoch: int, *, forgets: bool = False) -> None:
        """Stop a shard until it is begun and armed again. With `forgets` it drops all
        its data before that.
        """
        await self._shards.call(shard, "disarm", epoch, int(forgets))

    async def set_controls(self, shard: int, epoch: int, controls: Sequence[RunControl]) -> None:
        """Replace the controls of all runs; the consequences are applied in batches."""
        args = [arg for control in controls for arg in control_args(control)]
        while await self._shards.call(shard, "controls", epoch, *args):
            pass

    async def set_hosts(self, shard: int, epoch: int, hosts: Sequence[HostRow]) -> None:
        """Set gates to their state in the store."""
        for part in batches(hosts):
            await self._shards.call(
                shard, "set_hosts", epoch, *(arg for host in part for arg in host_args(host))
            )

    async def evict_idle_hosts(self, shard: int, epoch: int, cursor: str = "") -> tuple[str, int]:
        """Evict idle hosts among some of all."""
        after, gone = await self._shards.call(shard, "let_go", epoch, cursor or "0")
        return ("" if after == b"0" else after.decode()), int(gone)

    async def replay(
        self,
        shard: int,
        epoch: int,
        run_id: int,
        places: Sequence[QueuePosition],
        *,
        tails: Mapping[str, bool] = {},
    ) -> int:
        """Offer open rows. `tails` maps a host to whether the store has more rows of it than this call
        offers.
        """
        calls = []
        ends, parts = list(tails.items()), list(places)
        for start in range(0, max(len(ends), len(parts), 1), BATCH):
            marks = ends[start : start + BATCH]
            args_ = [arg for host, has_more in marks for arg in (host, int(has_more))]
            args = place_args(run_id, parts[start : start + BATCH], self._cap)
            calls.append(Call(shard, "replay", [epoch, len(marks), *args_, *args]))
        new = 0
        for some in batches(calls, CALLS_PER_TRIP):
            new += sum(max(int(answer), 0) for answer in await self._shards.answers(some))
        return new

    async def short_lanes(self, shard: int, run_id: int) -> list[str]:
        """Return the hosts whose lane of a run has its tail in the store and its head nearly used up."""
        lanes = await self._lanes(shard, run_id, "more")
        return [
            host
            for host, (queued, has_more) in lanes.items()
            if has_more and queued * NEARLY_USED_UP < self._cap
        ]

    async def counts(
        self, shard: int, runs: Sequence[int], *, with_queues: bool = True
    ) -> dict[int, IndexCounts]:
        """Return the counts of runs. Without queues the cost does not depend on the number of hosts."""
        answer = await self._shards.call(shard, "counts", *runs)
        counts = {}
        for run_id, waiting, leased, cut in zip(runs, *(iter(answer),) * 3, strict=True):
            queued = 0
            if with_queues:
                lanes = await self._lanes(shard, run_id, "hosts")
                queued = sum(queued for queued, _ in lanes.values())
            counts[run_id] = IndexCounts(queued, waiting, leased, cut)
        return counts

    async def refusals(self, shard: int) -> RefusalCounts:
        """Return the number of refused calls of a shard."""
        return RefusalCounts(*map(int, await self._shards.call(shard, "refusals")))

    async def check(self, shard: int) -> None:
        """Raise if the server of a shard is unavailable or its settings are unsuitable."""
        await self._shards.check(shard)

    def shard_of(self, host: str) -> int:
        """Return the shard of a host."""
        return self._shards.of(host)

    async def _lanes(self, shard: int, run_id: int, part: str) -> dict[str, tuple[int, int]]:
        """Return by host the number of queued requests, and whether the store has more."""
        found: dict[str, tuple[int, int]] = {}
        cursor = b"0"
        while True:
            cursor, *rest = await self._shards.call(shard, "lanes", run_id, cursor, part)
            for name, queued, has_more in zip(*(iter(rest),) * 3, strict=True):
                found[name.decode()] = queued, has_more
            if cursor == b"0":
                return found


def _state(shard: int, answer: Any) -> ShardState | None:
    if isinstance(answer, SmartSpiderError):
        return None
    process, epoch, is_armed, is_taken = answer
    return ShardState(shard, process.decode(), int(epoch), bool(is_armed), bool(is_taken))
