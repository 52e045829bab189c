from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.clock import ManualClock


@pytest.fixture
async def ground(empty_store: str) -> AsyncIterator[PostgresBackend]:
    ground = PostgresBackend(empty_store, ManualClock())
    yield ground
    await ground.close()
