"""The API as a server on a free port, and its admin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from argon2 import PasswordHasher
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, Caller, serving

from smartspider.services import passwords
from smartspider.wiring.house import House, open_house


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path / "data", SETTINGS) as opened:
        yield opened


@pytest.fixture
async def api(house: House) -> AsyncIterator[Caller]:
    """The admin, at a running API."""
    async with serving(house) as base, aiohttp.ClientSession() as session:
        yield Caller(session, base, ADMIN_TOKEN)


@pytest.fixture(autouse=True)
def _quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that take no time; `tests/unit/services/test_passwords.py` has the real ones."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", lambda: hasher)
    monkeypatch.setattr(passwords, "_of_nobody", lambda: passwords._hash("nobody"))
