"""The leader's side of a frontier apart from the store: an index that may be wiped at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from smartspider.core.placing import HostRow, Place, RunControl


class ShardState(msgspec.Struct, frozen=True):
    """A part of the index as its server tells."""

    shard: int
    process: str
    """Of the server; another one after a restart or a failover."""
    epoch: int
    """That it was last armed with; 0: this process never was, or what it held is gone."""
    is_armed: bool


class Lane(msgspec.Struct, frozen=True):
    """The queue of a run for a host."""

    run_id: int
    host: str
    queued: int
    is_short: bool
    """Its tail was left in the store and its head is nearly used up."""


class IndexCounts(msgspec.Struct, frozen=True):
    """What the index holds of a run."""

    queued: int = 0
    waiting: int = 0
    leased: int = 0
    cut: int = 0
    """Lanes whose tail was left in the store."""


class Index(Protocol):
    """1. Every call that carries an epoch is refused (`TermOver`) when a shard has heard a newer one.
    2. A shard hands out nothing, takes no offer and ends no lease (`NotArmed`) until it is armed, in this
       process of its server and with all it held; arming lapses unless it is renewed.
    3. Its time is store time as it was told when it was armed; it never goes back.
    4. No host is handed out before one delay has passed since its shard was armed anew.
    5. A run without a control is gone: what is queued of it is dropped, what is leased stays at its hosts'
       gates until it ends.
    6. Only the head of a lane is kept. What is cut off is named when the head is nearly used up.
    """

    @property
    def shards(self) -> int:
        """How many parts there are."""

    async def look(self) -> list[ShardState | None]:
        """How the shards stand; None for one that does not answer."""

    async def look_at(self, shard: int) -> ShardState | None:
        """How one shard stands, whatever the others do."""

    async def begin(self, shard: int, epoch: int) -> None:
        """Announce that a shard will be armed with an epoch: what follows is accepted, nothing else yet."""

    async def arm(self, shard: int, epoch: int, store_now: float) -> None:
        """Arm a shard, or renew that; `store_now` is the moment the leader was sure of its term."""

    async def disarm(self, shard: int, epoch: int) -> None:
        """Have a shard serve nobody until it is begun and armed anew."""

    async def set_controls(self, shard: int, epoch: int, controls: Sequence[RunControl]) -> None:
        """These are all runs there are."""

    async def set_hosts(self, shard: int, epoch: int, hosts: Sequence[HostRow]) -> None:
        """Gates as the store has them."""

    async def replay(
        self,
        shard: int,
        epoch: int,
        run_id: int,
        places: Sequence[Place],
        *,
        tails: Mapping[str, bool] = {},
    ) -> int:
        """Offer open rows, also before the shard is armed; how many were not live.

        `tails` says of hosts whether the store has more than is offered with this.
        """

    async def lanes(self, shard: int, run_id: int) -> list[Lane]:
        """The queues of a run."""

    async def short_lanes(self, shard: int, run_id: int) -> list[Lane]:
        """Those of the queues whose tail is in the store and whose head is nearly used up."""

    async def counts(
        self, shard: int, runs: Sequence[int], *, with_queues: bool = True
    ) -> dict[int, IndexCounts]:
        """What is held of runs. Without queues it costs the same however many hosts a run has."""

    def shard_of(self, host: str) -> int:
        """Where a host is kept: all hosts of a registrable domain together."""
