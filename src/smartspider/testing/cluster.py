"""The ground of the contract suites on PostgreSQL and Redis, with a keeper that is always quick enough."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from smartspider.backends.cluster.ledger import ClusterLedger
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.backends.postgres.moves import SQL
from smartspider.backends.postgres.presence import PostgresPresence
from smartspider.backends.postgres.rows import PostgresOpenRows
from smartspider.backends.postgres.store import PostgresStore
from smartspider.backends.postgres.workers import PostgresWorkerRegistry
from smartspider.backends.redis import library
from smartspider.backends.redis.calls import BATCH
from smartspider.backends.redis.connecting import read_url
from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.backends.redis.index import RedisIndex
from smartspider.backends.redis.servers import Servers, open_servers
from smartspider.backends.redis.shards import Shards
from smartspider.backends.sql.connection import Connection
from smartspider.backends.sql.store import SqlStore
from smartspider.core.lease import Lease, LeaseBatch
from smartspider.core.verdict import Settlement
from smartspider.core.workers import WorkerCard
from smartspider.interfaces.leadership import Term
from smartspider.interfaces.ledger import SettleReport
from smartspider.keeper.frontier.arming import ArmShard
from smartspider.keeper.frontier.controls import Controls, TellControls
from smartspider.keeper.frontier.filling import FillLanes, Offering
from smartspider.keeper.frontier.loads import CountLoads
from smartspider.keeper.frontier.watch import Apart, Watch
from smartspider.testing.clock import ManualClock
from smartspider.testing.postgres import ManualTime, PostgresGround

UNTENDED = ("create_run", "get_robots", "find_runs", "beat")
"""What has nothing to do with what the frontier holds."""
LONG_AGO_S = 7200.0
"""Since the shards were armed: longer than any delay."""


def settable_shards(url: str, servers: Servers | None = None) -> Shards:
    """The library whose clock is turned by hand, on the servers of an address."""
    return Shards(read_url(url), servers=servers, code=library.source(is_settable=True))


class Unchallenged:
    """A leader's row that nobody else wants."""

    async def check(self, epoch: int) -> None:
        """It is always the newest."""


class QuickKeeper:
    """A keeper whose duties are done by hand, before anybody can ask for what they bring about."""

    def __init__(self, url: str, redis_url: str, clock: ManualClock, times: ManualTime) -> None:
        self.clock = clock
        self.times = times
        self.database = PostgresDatabase(url, clock, times, size=2)
        self._servers = open_servers(read_url(redis_url))
        self.shards = settable_shards(redis_url, self._servers)
        self.index = RedisIndex(self.shards)
        self.rows = PostgresOpenRows(self.database)
        self.leases: dict[int, dict[int, Lease]] = {}
        """What living workers were given, by worker and row."""
        self._ago_s = LONG_AGO_S
        leadership: Any = Unchallenged()
        apart = Apart(self.index, self.rows, leadership, self._now, lapse_s=-1.0)
        self._watch = watch = Watch(apart)
        controls, offering = Controls(watch), Offering(watch)
        self._arming = [ArmShard(watch, controls, offering, shard) for shard in range(self.index.shards)]
        self._telling = TellControls(watch, controls)
        self._filling = FillLanes(watch, offering)
        self._counting = CountLoads(watch, SqlStore(self.database).live_runs, clock)
        self._term = Term("keeper", 1, float("inf"))
        self._renewed_at = float("-inf")
        self.is_stale = True
        """Somebody wrote to the store since it was looked at."""

    async def tend(self) -> None:
        """All that keeps the frontier going; nothing is looked for that cannot have changed."""
        await self.renew()
        if self.is_stale:
            self.is_stale = False
            await self._telling.do(self._term)
            await self._filling.do(self._term)

    async def renew(self) -> None:
        """Arm the shards, or for longer, when time has passed."""
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
        self._renewed_at = now

    def _now(self) -> float:
        return self.times.now() - self._ago_s

    async def _turn(self, now: float) -> None:
        """Turn the clocks of the servers."""
        tags = [self.shards.tag(shard) for shard in range(self.index.shards)]
        await self._servers.calls([(tag, ["SET", f"{tag}:wall", repr(now)]) for tag in tags])

    async def count_leases(self) -> None:
        """What of runs is in flight."""
        await self._counting.count(self._term, with_queues=False)

    async def count(self) -> None:
        """All that is told to those who look: what is held of runs, and what workers hold."""
        await self.tend()
        await self._counting.do(self._term)
        await self._filling.do(self._term)

    def miss(self) -> None:
        """Something may not be offered: in a moment it would be noticed."""
        self.is_stale = True
        for control in self._watch.controls:
            self._watch.want(control.run_id)

    async def mirror(self, frontier: RedisFrontier, *, is_beat: bool = False) -> None:
        """Show what living workers hold, as their beats do; with one they are heard of as well."""
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
            await self.database.write_beside(work)

    async def lose(self, worker_ids: Sequence[int]) -> None:
        """Workers fell silent long ago."""
        for worker_id in worker_ids:
            self.leases.pop(worker_id, None)
        await self.database.write_beside(
            lambda connection: connection.execute(
                "UPDATE worker SET seen_at = 0 WHERE id = ANY (?)", (list(worker_ids),)
            )
        )

    async def close(self) -> None:
        """Let go of everything."""
        self.database.close()
        await self.shards.close()


class TendedFrontier:
    """A frontier whose keeper has just been there; its workers beat as long as they are not lost."""

    def __init__(self, inner: RedisFrontier, keeper: QuickKeeper) -> None:
        self._inner = inner
        self._keeper = keeper
        self.own: list[int] = []
        """Workers of this process."""

    async def join(self, worker: WorkerCard) -> int:
        """Register a worker."""
        worker_id = await self._inner.join(worker)
        self.own.append(worker_id)
        self._keeper.leases[worker_id] = {}
        return worker_id

    async def leave(self, worker_id: int) -> None:
        """The worker is gone in good order."""
        await self._keeper.tend()
        self._keeper.leases.pop(worker_id, None)
        await self._inner.leave(worker_id)

    async def lease(self, worker_id: int, want: int, runs: Sequence[int], own: bytes = b"") -> LeaseBatch:
        """Up to `want` requests; more than a worker asks for at a time come in several batches."""
        await self._keeper.tend()
        batch = await self._inner.lease(worker_id, want, runs)
        leases = list(batch.leases)
        tries = 4 if want > BATCH else 0
        while tries and len(leases) < want:
            await self._keeper.count()
            batch = await self._inner.lease(worker_id, want - len(leases), runs)
            leases += batch.leases
            tries = 4 if batch.leases else tries - 1
        self._keeper.leases.setdefault(worker_id, {}).update({lease.url_id: lease for lease in leases})
        return LeaseBatch(leases, batch.now, batch.next_at)

    async def reclaim(self) -> Any:
        """Take back what dead or silent workers hold."""
        await self._keeper.tend()
        await self._keeper.mirror(self._inner, is_beat=True)
        return await self._inner.reclaim()

    def __getattr__(self, name: str) -> Any:
        return tended(getattr(self._inner, name), self._keeper.tend)


class TendedLedger:
    """A ledger whose frontier is armed."""

    def __init__(self, inner: ClusterLedger, keeper: QuickKeeper) -> None:
        self._inner = inner
        self._keeper = keeper

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Carry out verdicts; when that ends in the middle, the keeper will notice what is missing."""
        await self._keeper.tend()
        if settlements:
            await self._keeper.count_leases()
            self._keeper.is_stale = True
        try:
            return await self._inner.settle(settlements)
        except BaseException:
            self._keeper.miss()
            raise


class Tended:
    """A store that is asked after the keeper has been there, and that may have changed afterwards."""

    def __init__(self, inner: object, keeper: QuickKeeper, act: Callable[[], Awaitable[None]]) -> None:
        self._inner = inner
        self._keeper = keeper
        self._act = act

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return found if name == "items" else tended(found, self._act, self._after)

    def _after(self, name: str) -> None:
        self._keeper.is_stale = True
        if name == "retry":  # it opens rows that nobody tells the frontier of
            self._keeper.miss()


def tended(
    call: Callable[..., Awaitable[Any]],
    act: Callable[[], Awaitable[None]],
    after: Callable[[str], None] | None = None,
) -> Any:
    """The call, between two acts."""

    async def do(*args: Any, **more: Any) -> Any:
        if call.__name__ not in UNTENDED:
            await act()
        try:
            return await call(*args, **more)
        finally:
            if after is not None:
                after(call.__name__)

    return do


class ClusterGround(PostgresGround):
    """A database and a Redis as one process sees them. `redis_url` is of one that is empty."""

    def __init__(
        self, url: str, clock: ManualClock, redis_url: str, *, keeper: QuickKeeper | None = None
    ) -> None:
        self.redis_url = redis_url
        times = keeper.times if keeper is not None else ManualTime(clock)
        self._is_first = keeper is None
        self.keeper = keeper or QuickKeeper(url, redis_url, clock, times)
        super().__init__(url, clock, times)

    def _open(self) -> None:
        super()._open()
        self._shards = settable_shards(self.redis_url)
        rows = PostgresOpenRows(self.database)
        inner = RedisFrontier(self._shards, rows, PostgresPresence(self.database), rows, self.clock)
        self._inner = inner
        self._tended = TendedFrontier(inner, self.keeper)
        self.frontier = cast("Any", self._tended)
        self.ledger = TendedLedger(ClusterLedger(PostgresLedger(self.database), inner), self.keeper)
        self.store = self.robots = cast(
            "Any", Tended(PostgresStore(self.database, inner), self.keeper, self._count)
        )
        self.insight = cast("Any", Tended(self.insight, self.keeper, self._count))
        self.metrics = cast("Any", Tended(self.metrics, self.keeper, self._count))
        self.workers = cast("Any", Tended(PostgresWorkerRegistry(self.database), self.keeper, self._show))

    async def _count(self) -> None:
        await self.keeper.count()
        await self.keeper.mirror(self._inner)

    async def _show(self) -> None:
        await self.keeper.tend()
        await self.keeper.mirror(self._inner)

    async def another(self) -> ClusterGround:
        """Connections and clients of its own."""
        ground = ClusterGround(self.url, self.clock, self.redis_url, keeper=self.keeper)
        self._others.append(ground)
        return ground

    async def lose(self, worker_id: int) -> None:
        """The worker has not been heard of for long."""
        await self._show()
        await self.keeper.lose([worker_id])

    async def reopen(self) -> None:
        """None of its workers is heard of any more."""
        await self.keeper.lose(self._tended.own)
        await self._shards.close()
        await super().reopen()

    async def close(self) -> None:
        """Let go of everything."""
        await super().close()
        await self._shards.close()
        if self._is_first:
            await self.keeper.close()
