"""The contract suites over SQLite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts import (
    AnswerStoreContract,
    AuditLogContract,
    EventFeedContract,
    FrontierContract,
    InsightContract,
    LeadershipContract,
    LedgerContract,
    LogStoreContract,
    MetricStoreContract,
    NoticeStoreContract,
    ResultStoreContract,
    ScalingContract,
    ScheduleStoreContract,
    StoreContract,
    TaskStoreContract,
    UserStoreContract,
    WorkerRegistryContract,
)


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    ground = SqliteBackend(tmp_path, ManualClock())
    yield ground
    await ground.close()


class TestSqliteStore(StoreContract):
    pass


class TestSqliteFrontier(FrontierContract):
    pass


class TestSqliteLedger(LedgerContract):
    pass


class TestSqliteTaskStore(TaskStoreContract):
    pass


class TestSqliteResultStore(ResultStoreContract):
    pass


class TestSqliteUserStore(UserStoreContract):
    pass


class TestSqliteInsight(InsightContract):
    pass


class TestSqliteAuditLog(AuditLogContract):
    pass


class TestSqliteEventFeed(EventFeedContract):
    pass


class TestSqliteLogStore(LogStoreContract):
    pass


class TestSqliteMetricStore(MetricStoreContract):
    pass


class TestSqliteAnswerStore(AnswerStoreContract):
    pass


class TestSqliteLeadership(LeadershipContract):
    pass


class TestSqliteScheduleStore(ScheduleStoreContract):
    pass


class TestSqliteNoticeStore(NoticeStoreContract):
    pass


class TestSqliteWorkerRegistry(WorkerRegistryContract):
    pass


class TestSqliteScaling(ScalingContract):
    pass
