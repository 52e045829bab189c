from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.clock import ManualClock


@pytest.fixture
async def backend(empty_store: str) -> AsyncIterator[PostgresBackend]:
    backend = PostgresBackend(empty_store, ManualClock())
    yield backend
    await backend.close()
