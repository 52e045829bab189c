"""The contract suites over SQLite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smartspider.testing.clock import ManualClock
from smartspider.testing.contracts import (
    AuditLogContract,
    FrontierContract,
    LedgerContract,
    StoreContract,
    TaskStoreContract,
)
from smartspider.testing.sqlite import SqliteGround


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[SqliteGround]:
    ground = SqliteGround(tmp_path, ManualClock())
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


class TestSqliteAuditLog(AuditLogContract):
    pass
