"""The ground of the contract suites on PostgreSQL and Redis, with a keeper that is always quick enough."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from smartspider.backends.cluster.ledger import ClusterLedger
from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.backends.postgres.presence import PostgresPresence
from smartspider.backends.postgres.rows import PostgresOpenRows
from smartspider.backends.postgres.store import PostgresStore
from smartspider.backends.postgres.workers import PostgresWorkerRegistry
from smartspider.backends.redis.calls import BATCH
from smartspider.backends.redis.demand import RedisDemand
from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.core.lease import LeaseBatch
from smartspider.core.verdict import Settlement
from smartspider.core.workers import WorkerCard
from smartspider.interfaces.ledger import SettleReport
from smartspider_testing.clock import ManualClock
from smartspider_testing.postgres import ManualTime, PostgresGround
from smartspider_testing.quick_keeper import QuickKeeper, settable_shards

UNTENDED = ("create_run", "get_robots", "find_runs", "beat")
"""What has nothing to do with what the frontier holds."""


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
        batch = await self._inner.lease(worker_id, want, runs, own)
        leases = list(batch.leases)
        tries = 4 if want > BATCH else 0
        while tries and len(leases) < want:
            await self._keeper.count()
            batch = await self._inner.lease(worker_id, want - len(leases), runs, own)
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
        self.scaling = cast("Any", Tended(self.scaling, self.keeper, self._count))
        demand = RedisDemand(self._shards, self.times.now)
        self.demand = cast("Any", Tended(demand, self.keeper, self._count))

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
