from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smartspider_testing.clock import ManualClock
from smartspider_testing.sqlite import SqliteGround


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[SqliteGround]:
    ground = SqliteGround(tmp_path / "data", ManualClock())
    yield ground
    await ground.close()
