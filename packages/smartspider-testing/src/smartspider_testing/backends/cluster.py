"""PostgreSQL and Redis for the contract suites, with a keeper that runs before every call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from smartspider.backends.cluster_ledger import ClusterLedger
from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.backends.postgres.store import PostgresStore
from smartspider.backends.postgres.workers import PostgresMembership, PostgresWorkerRegistry
from smartspider.backends.redis.calls import BATCH
from smartspider.backends.redis.demand import RedisDemand
from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.core.frontier.lease import LeaseBatch
from smartspider.core.frontier.verdict import Settlement
from smartspider.core.runs.run import HTTP_ONLY
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.interfaces.ledger import SettleReport
from smartspider_testing.backends.inline_keeper import InlineKeeper, settable_shards
from smartspider_testing.backends.postgres import ManualTime, PostgresBackend
from smartspider_testing.clock import ManualClock

UNSYNCED = ("create_run", "get_robots", "find_runs", "beat")
"""Methods that do not depend on the content of the frontier."""


class SyncedFrontier:
    """A frontier whose keeper runs before every call; its workers send heartbeats until they are lost."""

    def __init__(self, inner: RedisFrontier, keeper: InlineKeeper) -> None:
        self._inner = inner
        self._keeper = keeper
        self.own: list[int] = []
        """Workers of this process."""

    async def join(self, worker: WorkerRegistration) -> int:
        """Register a worker."""
        worker_id = await self._inner.join(worker)
        self.own.append(worker_id)
        self._keeper.leases[worker_id] = {}
        return worker_id

    async def leave(self, worker_id: int) -> None:
        """Deregister a worker."""
        await self._keeper.tend()
        self._keeper.leases.pop(worker_id, None)
        await self._inner.leave(worker_id)

    async def lease(
        self,
        worker_id: int,
        want: int,
        runs: Sequence[int],
        own: bytes = b"",
        capabilities: frozenset[str] = HTTP_ONLY,
        *,
        ahead_s: float = 0.0,
    ) -> LeaseBatch:
        """Lease up to `want` requests, in several batches if `want` exceeds the size of one."""
        await self._keeper.tend()
        batch = await self._inner.lease(worker_id, want, runs, own, capabilities, ahead_s=ahead_s)
        leases = list(batch.leases)
        tries = 4 if want > BATCH else 0
        while tries and len(leases) < want:
            await self._keeper.count()
            left = want - len(leases)
            batch = await self._inner.lease(worker_id, left, runs, own, capabilities, ahead_s=ahead_s)
            leases += batch.leases
            tries = 4 if batch.leases else tries - 1
        self._keeper.leases.setdefault(worker_id, {}).update({lease.url_id: lease for lease in leases})
        return LeaseBatch(leases, batch.now, batch.next_at)

    async def reclaim(self) -> Any:
        """Reclaim the leases of dead and silent workers."""
        await self._keeper.tend()
        await self._keeper.mirror(self._inner, is_beat=True)
        return await self._inner.reclaim()

    def __getattr__(self, name: str) -> Any:
        return synced(getattr(self._inner, name), self._keeper.tend, self._after)

    def _after(self, name: str) -> None:
        if name in ("hold_host", "resume_host", "slow_host"):  # those of an owner are part of the controls
            self._keeper.is_stale = True


class SyncedLedger:
    """A ledger whose keeper runs before every settle."""

    def __init__(self, inner: ClusterLedger, keeper: InlineKeeper) -> None:
        self._inner = inner
        self._keeper = keeper

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Settle. After an interrupted settle the keeper looks for missing rows."""
        await self._keeper.tend()
        if settlements:
            await self._keeper.count_leases()
            self._keeper.is_stale = True
        try:
            return await self._inner.settle(settlements)
        except BaseException:
            self._keeper.miss()
            raise


class SyncedStore:
    """A store whose keeper runs before every call, and again after changes."""

    def __init__(self, inner: object, keeper: InlineKeeper, act: Callable[[], Awaitable[None]]) -> None:
        self._inner = inner
        self._keeper = keeper
        self._act = act

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return found if name == "items" else synced(found, self._act, self._after)

    def _after(self, name: str) -> None:
        self._keeper.is_stale = True
        if name == "retry":  # it reopens rows without offering them to the frontier
            self._keeper.miss()


def synced(
    call: Callable[..., Awaitable[Any]],
    act: Callable[[], Awaitable[None]],
    after: Callable[[str], None] | None = None,
) -> Any:
    """Wrap a call with `act` before and `after` after it."""

    async def do(*args: Any, **more: Any) -> Any:
        if call.__name__ not in UNSYNCED:
            await act()
        try:
            return await call(*args, **more)
        finally:
            if after is not None:
                after(call.__name__)

    return do


class ClusterBackend(PostgresBackend):
    """A database and a Redis as one process sees them. The Redis at `redis_url` is empty."""

    def __init__(
        self, url: str, clock: ManualClock, redis_url: str, *, keeper: InlineKeeper | None = None
    ) -> None:
        self.redis_url = redis_url
        times = keeper.times if keeper is not None else ManualTime(clock)
        self._is_first = keeper is None
        self.keeper = keeper or InlineKeeper(url, redis_url, clock, times)
        super().__init__(url, clock, times)

    def open(self) -> None:
        """Open the data."""
        super().open()
        self._shards = settable_shards(self.redis_url)
        rows = PostgresOpenRows(self.database)
        inner = RedisFrontier(self._shards, rows, PostgresMembership(self.database), rows, self.clock)
        self._inner = inner
        self._tended = SyncedFrontier(inner, self.keeper)
        self.frontier = cast("Any", self._tended)
        self.ledger = SyncedLedger(ClusterLedger(PostgresLedger(self.database), inner), self.keeper)
        self.store = self.robots = cast(
            "Any", SyncedStore(PostgresStore(self.database, inner), self.keeper, self._count)
        )
        self.insight = cast("Any", SyncedStore(self.insight, self.keeper, self._count))
        self.metrics = cast("Any", SyncedStore(self.metrics, self.keeper, self._count))
        self.workers = cast(
            "Any", SyncedStore(PostgresWorkerRegistry(self.database), self.keeper, self._show)
        )
        self.scaling = cast("Any", SyncedStore(self.scaling, self.keeper, self._count))
        demand = RedisDemand(self._shards, self.times.now)
        self.demand = cast("Any", SyncedStore(demand, self.keeper, self._count))

    async def _count(self) -> None:
        await self.keeper.count()
        await self.keeper.mirror(self._inner)

    async def _show(self) -> None:
        await self.keeper.tend()
        await self.keeper.mirror(self._inner)

    async def another(self) -> ClusterBackend:
        """Open the same data with connections and clients of its own."""
        backend = ClusterBackend(self.url, self.clock, self.redis_url, keeper=self.keeper)
        self._others.append(backend)
        return backend

    async def lose(self, worker_id: int) -> None:
        """Let the heartbeat of a worker expire."""
        await self._show()
        await self.keeper.lose([worker_id])

    async def reopen(self) -> None:
        """Let the heartbeats of all its workers expire and open the data again."""
        await self.keeper.lose(self._tended.own)
        await self._shards.close()
        await super().reopen()

    async def close(self) -> None:
        """Close all connections."""
        await super().close()
        await self._shards.close()
        if self._is_first:
            await self.keeper.close()
