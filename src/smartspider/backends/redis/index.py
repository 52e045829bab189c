"""The leader's side of the frontier on Redis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from smartspider.backends.redis.calls import BATCH, LANE_CAP, batches, control_args, host_args, place_args
from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.errors import SmartSpiderError
from smartspider.core.frontier.updates import HostRow, QueuePosition, RunControl
from smartspider.interfaces.index import IndexCounts, RefusalCounts, ShardState, SlotLead

FORGET = 2
"""What a shard says that holds what it should not."""
AT_ONCE = 8
"""Calls in one round trip: workers have their turn in between."""
NEARLY_USED_UP = 4
"""A head is short when less than the n-th part of it is left."""


class RedisIndex:
    """See `interfaces/index.py`."""

    def __init__(self, shards: Shards, *, cap: int = LANE_CAP) -> None:
        self._shards = shards
        self._cap = cap

    @property
    def shards(self) -> int:
        """How many parts there are."""
        return self._shards.count

    async def shard_states(self) -> list[ShardState | None]:
        """How the shards stand."""
        answers = await self._shards.round([Call(shard, "look") for shard in range(self.shards)])
        return [_state(shard, answer) for shard, answer in enumerate(answers)]

    async def shard_state(self, shard: int) -> ShardState | None:
        """How one shard stands, whatever the others do."""
        (answer,) = await self._shards.round([Call(shard, "look")])
        return _state(shard, answer)

    async def begin(self, shard: int, epoch: int, store_now: float | None = None) -> None:
        """Announce that a shard will be armed; until it is, it serves nobody."""
        told = () if store_now is None else (repr(float(store_now)),)
        if await self._shards.call(shard, "begin", epoch, *told) == FORGET:
            cursor = b"0"
            while (cursor := await self._shards.call(shard, "forget", epoch, cursor)) != b"0":
                pass

    async def arm(self, shard: int, epoch: int, store_now: float, lead: SlotLead = SlotLead()) -> float:
        """Arm a shard, or renew that; the longest lead that was wanted since the last time."""
        told = (repr(float(store_now)), repr(lead.lead_s), repr(lead.reach_s))
        _, wanted = await self._shards.call(shard, "arm", epoch, *told)
        return float(wanted)

    async def disarm(self, shard: int, epoch: int, *, forgets: bool = False) -> None:
        """Have a shard serve nobody until it is begun and armed anew, and forget all it holds before that."""
        await self._shards.call(shard, "disarm", epoch, int(forgets))

    async def set_controls(self, shard: int, epoch: int, controls: Sequence[RunControl]) -> None:
        """These are all runs there are; what follows from that is done a part at a time."""
        args = [arg for control in controls for arg in control_args(control)]
        while await self._shards.call(shard, "controls", epoch, *args):
            pass

    async def set_hosts(self, shard: int, epoch: int, hosts: Sequence[HostRow]) -> None:
        """Gates as the store has them."""
        for part in batches(hosts):
            await self._shards.call(
                shard, "set_hosts", epoch, *(arg for host in part for arg in host_args(host))
            )

    async def evict_idle_hosts(self, shard: int, epoch: int, cursor: str = "") -> tuple[str, int]:
        """Let go of hosts that nobody asks for, looking at some of all."""
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
        """Offer open rows. `tails` says of hosts whether the store has more than is offered with this."""
        calls = []
        ends, parts = list(tails.items()), list(places)
        for start in range(0, max(len(ends), len(parts), 1), BATCH):
            marks = ends[start : start + BATCH]
            told = [arg for host, has_more in marks for arg in (host, int(has_more))]
            args = place_args(run_id, parts[start : start + BATCH], self._cap)
            calls.append(Call(shard, "replay", [epoch, len(marks), *told, *args]))
        new = 0
        for some in batches(calls, AT_ONCE):
            new += sum(max(int(answer), 0) for answer in await self._shards.answers(some))
        return new

    async def short_lanes(self, shard: int, run_id: int) -> list[str]:
        """Hosts whose lane of a run has its tail in the store and its head nearly used up."""
        lanes = await self._lanes(shard, run_id, "more")
        return [
            host
            for host, (queued, has_more) in lanes.items()
            if has_more and queued * NEARLY_USED_UP < self._cap
        ]

    async def counts(
        self, shard: int, runs: Sequence[int], *, with_queues: bool = True
    ) -> dict[int, IndexCounts]:
        """What is held of runs. Without queues it costs the same however many hosts a run has."""
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
        """What a shard refused, counted."""
        return RefusalCounts(*map(int, await self._shards.call(shard, "refusals")))

    async def check(self, shard: int) -> None:
        """Raise why the server of a shard cannot be used, or must not be as it is set up."""
        await self._shards.check(shard)

    def shard_of(self, host: str) -> int:
        """Where a host is kept."""
        return self._shards.of(host)

    async def _lanes(self, shard: int, run_id: int, part: str) -> dict[str, tuple[int, int]]:
        """By host, how many are queued and whether there are more in the store."""
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
