from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from smartspider_testing.clock import ManualClock
from smartspider_testing.postgres import PostgresGround


@pytest.fixture
async def ground(empty_store: str) -> AsyncIterator[PostgresGround]:
    ground = PostgresGround(empty_store, ManualClock())
    yield ground
    await ground.close()
