"""The contract suites over PostgreSQL and Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from smartspider.core.workers.worker import WorkerHealth, WorkerRegistration
from smartspider.interfaces.worker_registry import HeartbeatReport
from smartspider_testing.backends.cluster import ClusterBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts import (
    DiagnosticsContract,
    EventFeedContract,
    FrontierContract,
    LedgerContract,
    MetricStoreContract,
    ResultStoreContract,
    ScalingContract,
    StoreContract,
    WorkerRegistryContract,
)
from smartspider_testing.contracts.backend import Backend
from smartspider_testing.servers import PristineDatabase, RedisServer


@pytest.fixture
async def backend(
    store_database: PristineDatabase, empty_redis: RedisServer
) -> AsyncIterator[ClusterBackend]:
    backend = ClusterBackend(store_database.reset(), ManualClock(), empty_redis.url)
    yield backend
    await backend.close()


class TestClusterRunStore(StoreContract):
    pass


class TestClusterFrontier(FrontierContract):
    pass


class TestClusterLedger(LedgerContract):
    pass


class TestClusterResultStore(ResultStoreContract):
    pass


class TestClusterDiagnostics(DiagnosticsContract):
    pass


class TestClusterEventFeed(EventFeedContract):
    pass


class TestClusterMetricStore(MetricStoreContract):
    pass


class TestClusterWorkerRegistry(WorkerRegistryContract):
    async def test_workers_of_a_cluster_hear_of_each_other(self, backend: Backend) -> None:
        """Worker registry 3: machines differ, so it matters who takes what."""
        one, two = [await backend.frontier.join(WorkerRegistration(name)) for name in ("one", "two")]
        await backend.workers.beat(two, HeartbeatReport(16, 1.0, 0, health=WorkerHealth(pages=7)))
        heard = await backend.workers.beat(one, HeartbeatReport(16, 1.0, 0, health=WorkerHealth(pages=9)))
        assert heard.peers == {one: WorkerHealth(pages=9), two: WorkerHealth(pages=7)}


class TestClusterScaling(ScalingContract):
    pass
