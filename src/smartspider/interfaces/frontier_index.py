"""The leader's view of a frontier outside the store: an index that may be lost at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from smartspider.core.frontier.updates import HostRow, QueuePosition, RunControl

LAPSE_S = 3.0
"""Seconds that a shard serves after the moment given with its last arming. The leader waits this long before
it arms another process in its place: the old one may be alive but unreachable.
"""


class ShardState(msgspec.Struct, frozen=True):
    """The state of a shard, as reported by its server."""

    shard: int
    process: str
    """Id of the server process; it changes with a restart or a failover."""
    epoch: int
    """Epoch of the last arming; 0 if this process was never armed or lost its data."""
    is_armed: bool
    is_taken: bool = False
    """Another installation uses the shard."""


class SlotLead(msgspec.Struct, frozen=True):
    """The time that slots are granted ahead. A slot outlives the memory of the shard that granted it, so
    arming another process, or the same one again, needs to know when the last slot ends.
    """

    lead_s: float = 0.3
    """Upper bound for the end of slots granted from now on, in seconds from the grant."""
    reach_s: float = 0.0
    """Upper bound for the end of slots granted before the arming, in seconds from the arming."""


class IndexCounts(msgspec.Struct, frozen=True):
    """Number of requests of a run in the index, by state."""

    queued: int = 0
    waiting: int = 0
    leased: int = 0
    cut: int = 0
    """Lanes whose tail is only in the store."""


class RefusalCounts(msgspec.Struct, frozen=True):
    """Number of calls a shard refused since it was filled."""

    stale: int = 0
    """Acks and renewals of leases that their worker no longer held."""
    old_epoch: int = 0
    """Calls of keepers that no longer lead."""


class Index(Protocol):
    """1. Every call with an epoch is refused (`LeadershipLost`) once the shard has seen a newer one.
    2. A shard grants no lease, accepts no offer and ends no lease (`NotArmed`) until it is armed, in this
       process of its server and with the data it held; arming lapses unless it is renewed.
    3. Its time is the store time given when it was armed; it never goes back.
    4. No host is leased before one delay has passed since its shard was armed again, and since all slots
       that may have been granted before have ended.
    5. A run without a control is deleted: its queued requests are dropped, its leases count at the gates
       of their hosts until they end.
    6. Only the head of a lane is kept. A lane that was cut is reported when its head is nearly used up.
    7. Calls refused to late workers and old leaders are counted.
    8. It belongs to one installation: calls of another are refused (`FrontierTaken`) while the keeper of
       the first was active in the last minute; after that the next one to begin owns it, without the data
       of the first.
    9. Idle hosts can be evicted. When an evicted host is used again, its state is as if it had stayed: no
       gap is shorter and every delay still applies.
    10. A server with unsuitable settings is refused, with the reason and the remedy; later changes of its
       settings are found by `check`.
    """

    @property
    def shards(self) -> int:
        """The number of shards."""

    async def shard_states(self) -> list[ShardState | None]:
        """Return the state of every shard; None for one that does not answer."""

    async def shard_state(self, shard: int) -> ShardState | None:
        """Return the state of one shard; None if it does not answer."""

    async def begin(self, shard: int, epoch: int, store_now: float | None = None) -> None:
        """Announce the epoch with which a shard will be armed: it accepts calls that fill it, and nothing
        else.

        With `store_now`, the following arming lapses earlier by the time this call took.
        """

    async def arm(self, shard: int, epoch: int, store_now: float, lead: SlotLead = SlotLead()) -> float:
        """Arm a shard or renew its arming; `store_now` is the moment the leader confirmed its term.

        Return the longest lead that was requested since the last call.
        """

    async def disarm(self, shard: int, epoch: int, *, forgets: bool = False) -> None:
        """Stop a shard until it is begun and armed again. With `forgets` it drops all
        its data before that.
        """

    async def set_controls(self, shard: int, epoch: int, controls: Sequence[RunControl]) -> None:
        """Replace the controls of all runs."""

    async def set_hosts(self, shard: int, epoch: int, hosts: Sequence[HostRow]) -> None:
        """Set gates to their state in the store."""

    async def evict_idle_hosts(self, shard: int, epoch: int, cursor: str = "") -> tuple[str, int]:
        """Evict idle hosts among some of all. Return the next cursor, empty after the last host, and the
        number evicted.
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
        """Offer open rows, also before the shard is armed. Return how many were not live.

        `tails` maps a host to whether the store has more rows of it than this call offers.
        """

    async def short_lanes(self, shard: int, run_id: int) -> list[str]:
        """Return the hosts whose lane of a run has its tail in the store and its head nearly used up."""

    async def counts(
        self, shard: int, runs: Sequence[int], *, with_queues: bool = True
    ) -> dict[int, IndexCounts]:
        """Return the counts of runs. Without queues the cost does not depend on the number of hosts."""

    async def refusals(self, shard: int) -> RefusalCounts:
        """Return the number of refused calls of a shard."""

    async def check(self, shard: int) -> None:
        """Raise `FrontierUnavailable` unless the server of a shard answers, and `FrontierUnfit` if its
        settings are unsuitable.
        """

    def shard_of(self, host: str) -> int:
        """Return the shard of a host. All hosts of a registrable domain share one."""
