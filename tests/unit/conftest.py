from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    backend = SqliteBackend(tmp_path / "data", ManualClock())
    yield backend
    await backend.close()
