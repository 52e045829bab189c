"""The contract suites over SQLite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts import (
    AuditLogContract,
    CookieSetStoreContract,
    DiagnosticsContract,
    EventFeedContract,
    FrontierContract,
    IdempotencyStoreContract,
    LeadershipContract,
    LedgerContract,
    LogStoreContract,
    MetricStoreContract,
    NotificationOutboxContract,
    NotificationStoreContract,
    PositionContract,
    ProxyStoreContract,
    ResultStoreContract,
    ScalingContract,
    ScheduleStoreContract,
    StoreContract,
    TaskStoreContract,
    UserStoreContract,
    VaultStoreContract,
    WorkerRegistryContract,
)


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    backend = SqliteBackend(tmp_path, ManualClock())
    yield backend
    await backend.close()


class TestSqliteRunStore(StoreContract):
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


class TestSqliteVaultStore(VaultStoreContract):
    pass


class TestSqliteCookieSetStore(CookieSetStoreContract):
    pass


class TestSqliteProxyStore(ProxyStoreContract):
    pass


class TestSqliteDiagnostics(DiagnosticsContract):
    pass


class TestSqliteAuditLog(AuditLogContract):
    pass


class TestSqliteEventFeed(EventFeedContract):
    pass


class TestSqliteLogStore(LogStoreContract):
    pass


class TestSqliteMetricStore(MetricStoreContract):
    pass


class TestSqliteIdempotencyStore(IdempotencyStoreContract):
    pass


class TestSqliteLeadership(LeadershipContract):
    pass


class TestSqliteScheduleStore(ScheduleStoreContract):
    pass


class TestSqliteNotificationStore(NotificationStoreContract):
    pass


class TestSqliteNotificationOutbox(NotificationOutboxContract):
    pass


class TestSqlitePosition(PositionContract):
    pass


class TestSqliteWorkerRegistry(WorkerRegistryContract):
    pass


class TestSqliteScaling(ScalingContract):
    pass
