"""The leader's side of a frontier apart from the store: an index that may be wiped at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from smartspider.core.frontier.updates import HostRow, QueuePosition, RunControl

LAPSE_S = 3.0
"""How long a shard serves after the moment its last arming tells. Whoever arms another process in its place
waits so long, because the old one may be alive and out of sight."""


class ShardState(msgspec.Struct, frozen=True):
    """A part of the index as its server tells."""

    shard: int
    process: str
    """Of the server; another one after a restart or a failover."""
    epoch: int
    """That it was last armed with; 0: this process never was, or what it held is gone."""
    is_armed: bool
    is_taken: bool = False
    """Another installation has it."""


class SlotLead(msgspec.Struct, frozen=True):
    """How far ahead slots are given. A slot outlives the memory of the shard that gave it: whoever arms
    another in its place, or the same one anew, has to know when the last of them is over.
    """

    lead_s: float = 0.3
    """How far ahead of the moment a slot may end that is given from now on."""
    reach_s: float = 0.0
    """How far after the arming those may end that were given before it."""


class IndexCounts(msgspec.Struct, frozen=True):
    """What the index holds of a run."""

    queued: int = 0
    waiting: int = 0
    leased: int = 0
    cut: int = 0
    """Lanes whose tail was left in the store."""


class RefusalCounts(msgspec.Struct, frozen=True):
    """What a shard refused since it holds what it holds."""

    stale: int = 0
    """Ends and renewals of leases by workers that did not hold them any more."""
    old_epoch: int = 0
    """Calls of keepers that did not lead any more."""


class Index(Protocol):
    """1. Every call that carries an epoch is refused (`TermOver`) when a shard has heard a newer one.
    2. A shard hands out nothing, takes no offer and ends no lease (`NotArmed`) until it is armed, in this
       process of its server and with all it held; arming lapses unless it is renewed.
    3. Its time is store time as it was told when it was armed; it never goes back.
    4. No host is handed out before one delay has passed since its shard was armed anew, and since all slots
       are over that may have been given before.
    5. A run without a control is gone: what is queued of it is dropped, what is leased stays at its hosts'
       gates until it ends.
    6. Only the head of a lane is kept. What is cut off is named when the head is nearly used up.
    7. What is refused to late workers and old leaders is counted.
    8. It is of one installation: calls of another are refused (`FrontierTaken`) as long as the keeper of the
       first was heard of in the last minute; then who begins it has it, without anything of the first.
    9. Hosts that nobody asks for can be let go. Asked for again, such a host is as it would have been: no gap
       is shorter, and whoever had a say there has it.
    10. A server that must not be used as it is set up is refused, with the reason and what to do; one that
       was set up otherwise later is found out by whoever checks it.
    """

    @property
    def shards(self) -> int:
        """How many parts there are."""

    async def shard_states(self) -> list[ShardState | None]:
        """How the shards stand; None for one that does not answer."""

    async def shard_state(self, shard: int) -> ShardState | None:
        """How one shard stands, whatever the others do."""

    async def begin(self, shard: int, epoch: int, store_now: float | None = None) -> None:
        """Announce that a shard will be armed with an epoch: what follows is accepted, nothing else yet.

        With the moment, the arming that follows lapses by as much earlier as its call was long on its way.
        """

    async def arm(self, shard: int, epoch: int, store_now: float, lead: SlotLead = SlotLead()) -> float:
        """Arm a shard, or renew that; `store_now` is the moment the leader was sure of its term.

        Tells the longest lead that was wanted since the last time.
        """

    async def disarm(self, shard: int, epoch: int, *, forgets: bool = False) -> None:
        """Have a shard serve nobody until it is begun and armed anew, and forget all it holds before that."""

    async def set_controls(self, shard: int, epoch: int, controls: Sequence[RunControl]) -> None:
        """These are all runs there are."""

    async def set_hosts(self, shard: int, epoch: int, hosts: Sequence[HostRow]) -> None:
        """Gates as the store has them."""

    async def evict_idle_hosts(self, shard: int, epoch: int, cursor: str = "") -> tuple[str, int]:
        """Let go of hosts that nobody asks for, looking at some of all. The next cursor, empty when these
        were the last, and how many went.
        """

    async def replay(
        self,
        shard: int,
        epoch: int,
        run_id: int,
        places: Sequence[QueuePosition],
        *,
        tails: Mapping[str, bool] = {},
    ) -> int:
        """Offer open rows, also before the shard is armed; how many were not live.

        `tails` says of hosts whether the store has more than is offered with this.
        """

    async def short_lanes(self, shard: int, run_id: int) -> list[str]:
        """Hosts whose lane of a run has its tail in the store and its head nearly used up."""

    async def counts(
        self, shard: int, runs: Sequence[int], *, with_queues: bool = True
    ) -> dict[int, IndexCounts]:
        """What is held of runs. Without queues it costs the same however many hosts a run has."""

    async def refusals(self, shard: int) -> RefusalCounts:
        """What a shard refused, counted."""

    async def check(self, shard: int) -> None:
        """Raise `FrontierUnavailable` with the reason unless the server of a shard answers; `FrontierUnfit`
        when it does and must not be used as it is set up.
        """

    def shard_of(self, host: str) -> int:
        """Where a host is kept: all hosts of a registrable domain together."""
