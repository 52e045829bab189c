"""The contract suites that need no frontier over PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts import (
    AnswerStoreContract,
    AuditLogContract,
    LeadershipContract,
    LogStoreContract,
    NoticeStoreContract,
    ScheduleStoreContract,
    TaskStoreContract,
    UserStoreContract,
)


@pytest.fixture
async def ground(empty_store: str) -> AsyncIterator[PostgresBackend]:
    ground = PostgresBackend(empty_store, ManualClock())
    yield ground
    await ground.close()


class TestPostgresTaskStore(TaskStoreContract):
    pass


class TestPostgresUserStore(UserStoreContract):
    pass


class TestPostgresAuditLog(AuditLogContract):
    pass


class TestPostgresLogStore(LogStoreContract):
    pass


class TestPostgresAnswerStore(AnswerStoreContract):
    pass


class TestPostgresLeadership(LeadershipContract):
    pass


class TestPostgresScheduleStore(ScheduleStoreContract):
    pass


class TestPostgresNoticeStore(NoticeStoreContract):
    pass
