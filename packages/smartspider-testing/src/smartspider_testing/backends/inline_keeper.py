"""A keeper for tests: its duties run inline, on a manual clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.frontier_updates import SQL
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.backends.postgres.store import PostgresStore
from smartspider.backends.redis import library
from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.backends.redis.frontier_index import RedisIndex
from smartspider.backends.redis.servers import RedisServers, open_servers
from smartspider.backends.redis.shards import Shards
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.updates import RunLoad
from smartspider.installation.installation import RemoteFrontier
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.arming import ArmShard
from smartspider.keeper.frontier.controls import RunControlSender, SendRunControls
from smartspider.keeper.frontier.filling import FillLanes, ShardLoader
from smartspider.keeper.frontier.hosts import EvictIdleHosts
from smartspider.keeper.frontier.loads import CountLoads
from smartspider.keeper.frontier.state import FrontierState
from smartspider.store.database import Connection
from smartspider.store.nodes.leadership import SqlLeadership
from smartspider_testing.backends.postgres import ManualTime
from smartspider_testing.clock import ManualClock

LONG_AGO_S = 7200.0
"""Time since the shards were armed: longer than any delay."""


def settable_shards(url: str, servers: RedisServers | None = None) -> Shards:
    """Return the shards of a URL with the build of the library whose clock can be set."""
    return Shards(read_url(url), servers=servers, code=library.source(is_settable=True))


class SoleLeadership:
    """A leadership without competitors."""

    async def check(self, epoch: int) -> None:
        """Accept every epoch."""


class SoleLeaderRows(PostgresOpenRows):
    """Open rows that accept the writes of a leader without an epoch in the database."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._leadership = SqlLeadership(database)

    async def record_arming(self, shard: int, process: str, *, epoch: int) -> None:
        """Record that a shard is being armed, with the current epoch."""
        del epoch
        await super().record_arming(shard, process, epoch=(await self._leadership.newest()).epoch)

    async def store_loads(self, loads: Sequence[RunLoad], *, epoch: int) -> None:
        """Store loads with the current epoch."""
        del epoch
        await super().store_loads(loads, epoch=(await self._leadership.newest()).epoch)


class InlineKeeper:
    """A keeper whose duties run before every call that could observe their effect."""

    def __init__(self, url: str, redis_url: str, clock: ManualClock, times: ManualTime) -> None:
        self.clock = clock
        self.times = times
        self.database = PostgresDatabase(url, clock, times, size=2)
        self._servers = open_servers(read_url(redis_url))
        self.shards = settable_shards(redis_url, self._servers)
        self.index = RedisIndex(self.shards)
        self.rows = SoleLeaderRows(self.database)
        self.leases: dict[int, dict[int, Lease]] = {}
        """Leases of live workers, by worker and row."""
        self._ago_s = LONG_AGO_S
        leadership: Any = SoleLeadership()
        remote = RemoteFrontier(self.index, self.rows, leadership, self._now, lapse_s=-1.0)
        self._state = state = FrontierState(remote)
        controls, loader = RunControlSender(state), ShardLoader(state)
        self._arming = [ArmShard(state, controls, loader, shard) for shard in range(self.index.shards)]
        self._telling = SendRunControls(state, controls)
        self._filling = FillLanes(state, loader)
        self._resting = EvictIdleHosts(state, clock)
        self._counting = CountLoads(state, PostgresStore(self.database).live_runs, clock)
        self._term = Term("keeper", 1, float("inf"))
        self._renewed_at = float("-inf")
        self.is_stale = True
        """True if the store was written to since the last synchronization."""

    async def tend(self) -> None:
        """Run all duties that keep the frontier serving; skip checks whose result cannot have changed."""
        await self.renew()
        if self.is_stale:
            self.is_stale = False
            await self._telling.do(self._term)
            await self._filling.do(self._term)

    async def renew(self) -> None:
        """Arm the shards, or renew them after time has passed."""
        if self._renewed_at == float("-inf"):
            await self._arm()
            self._ago_s = 0.0
        if self._now() > self._renewed_at:
            await self._arm()

    async def _arm(self) -> None:
        now = self._now()
        await self._turn(now)
        for duty in self._arming:
            await duty.do(self._term)
        await self._resting.do(self._term)
        self._renewed_at = now

    def _now(self) -> float:
        return self.times.now() - self._ago_s

    async def _turn(self, now: float) -> None:
        """Set the clocks of the servers."""
        tags = [self.shards.tag(shard) for shard in range(self.index.shards)]
        await self._servers.calls([(tag, ["SET", f"{tag}:wall", repr(now)]) for tag in tags])

    async def count_leases(self) -> None:
        """Store the leases in flight of each run."""
        await self._counting.count(self._term, with_queues=False)

    async def count(self) -> None:
        """Store all reported figures: loads of runs and leases of workers."""
        await self.tend()
        await self._counting.do(self._term)
        await self._filling.do(self._term)

    def miss(self) -> None:
        """Mark rows that may be missing from the frontier, so that the next sweep offers them."""
        self.is_stale = True
        for control in self._state.controls:
            self._state.request_fill(control.run_id)

    async def mirror(self, frontier: RedisFrontier, *, is_beat: bool = False) -> None:
        """Store the leases of live workers as heartbeats do; with `is_beat` renew the heartbeats too."""
        held = await frontier.held([lease for own in self.leases.values() for lease in own.values()])
        for worker_id, own in self.leases.items():
            self.leases[worker_id] = {key: lease for key, lease in own.items() if lease.token in held}
        now = self.times.now()

        def work(connection: Connection) -> None:
            for worker_id, own in self.leases.items():
                if is_beat:
                    connection.execute(
                        "UPDATE worker SET seen_at = ? WHERE id = ? AND gone_at IS NULL", (now, worker_id)
                    )
                connection.execute(SQL.unmirror, (worker_id, sorted(own)))
                if own:
                    leases = [own[url_id] for url_id in sorted(own)]
                    columns = (
                        [lease.token.counter for lease in leases],
                        [lease.deadline_at for lease in leases],
                        [lease.is_alone for lease in leases],
                    )
                    connection.execute(SQL.mirror, (worker_id, sorted(own), *columns))

        if self.leases:
            await self.database.write_concurrently(work)

    async def lose(self, worker_ids: Sequence[int]) -> None:
        """Let the heartbeats of workers expire."""
        for worker_id in worker_ids:
            self.leases.pop(worker_id, None)
        await self.database.write_concurrently(
            lambda connection: connection.execute(
                "UPDATE worker SET seen_at = 0 WHERE id = ANY (?)", (list(worker_ids),)
            )
        )

    async def close(self) -> None:
        """Close all connections."""
        self.database.close()
        await self.shards.close()
