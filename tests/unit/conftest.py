"""A data folder and its backend, as most tests need them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from smartspider.installation.data_folder import DataFolder
from smartspider.wiring.opening import open_folder
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DataFolder]:
    with open_folder(tmp_path / "data") as folder:
        yield folder


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    backend = SqliteBackend(tmp_path / "data", ManualClock())
    yield backend
    await backend.close()
