"""Whether a data folder can be used."""

from __future__ import annotations

import pytest

from smartspider.backends.sqlite.store import SqliteHealth
from smartspider.core.errors import StoreFull
from smartspider_testing.backends.sqlite import SqliteBackend


async def test_a_full_disk_is_noticed(backend: SqliteBackend) -> None:
    await SqliteHealth(backend.database).check_writable()
    full = SqliteHealth(backend.database, min_free=10**18)
    for check in (full.check_writable, full.check_room):
        with pytest.raises(StoreFull, match="is full"):
            await check()
