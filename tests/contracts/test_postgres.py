"""The contract suites that need no frontier over PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts import (
    AuditLogContract,
    CookieSetStoreContract,
    IdempotencyStoreContract,
    LeadershipContract,
    LogStoreContract,
    NotificationOutboxContract,
    NotificationStoreContract,
    PositionContract,
    ProxyStoreContract,
    ScheduleStoreContract,
    TaskStoreContract,
    UserStoreContract,
    VaultStoreContract,
)


@pytest.fixture
async def backend(empty_store: str) -> AsyncIterator[PostgresBackend]:
    backend = PostgresBackend(empty_store, ManualClock())
    yield backend
    await backend.close()


class TestPostgresTaskStore(TaskStoreContract):
    pass


class TestPostgresUserStore(UserStoreContract):
    pass


class TestPostgresVaultStore(VaultStoreContract):
    pass


class TestPostgresCookieSetStore(CookieSetStoreContract):
    pass


class TestPostgresProxyStore(ProxyStoreContract):
    pass


class TestPostgresAuditLog(AuditLogContract):
    pass


class TestPostgresLogStore(LogStoreContract):
    pass


class TestPostgresIdempotencyStore(IdempotencyStoreContract):
    pass


class TestPostgresLeadership(LeadershipContract):
    pass


class TestPostgresScheduleStore(ScheduleStoreContract):
    pass


class TestPostgresNotificationStore(NotificationStoreContract):
    pass


class TestPostgresNotificationOutbox(NotificationOutboxContract):
    pass


class TestPostgresPosition(PositionContract):
    pass
