"""The contract suites over PostgreSQL and Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from smartspider.testing.clock import ManualClock
from smartspider.testing.cluster import ClusterGround
from smartspider.testing.contracts import (
    EventFeedContract,
    FrontierContract,
    InsightContract,
    LedgerContract,
    MetricStoreContract,
    ResultStoreContract,
    StoreContract,
    WorkerRegistryContract,
)
from smartspider.testing.servers import PristineDatabase, RedisServer


@pytest.fixture
async def ground(store_database: PristineDatabase, empty_redis: RedisServer) -> AsyncIterator[ClusterGround]:
    ground = ClusterGround(store_database.reset(), ManualClock(), empty_redis.url)
    yield ground
    await ground.close()


class TestClusterStore(StoreContract):
    pass


class TestClusterFrontier(FrontierContract):
    pass


class TestClusterLedger(LedgerContract):
    pass


class TestClusterResultStore(ResultStoreContract):
    pass


class TestClusterInsight(InsightContract):
    pass


class TestClusterEventFeed(EventFeedContract):
    pass


class TestClusterMetricStore(MetricStoreContract):
    pass


class TestClusterWorkerRegistry(WorkerRegistryContract):
    pass
