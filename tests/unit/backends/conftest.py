from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    ground = SqliteBackend(tmp_path / "data", ManualClock())
    yield ground
    await ground.close()
