"""A server on a free port, and clients of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, serving

from smartspider.client import Client
from smartspider.services import passwords
from smartspider.wiring.house import House, open_house


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path / "data", SETTINGS) as opened:
        yield opened


@pytest.fixture
async def url(house: House) -> AsyncIterator[str]:
    async with serving(house) as base:
        yield base


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    """The admin."""
    async with Client(url, ADMIN_TOKEN) as client:
        yield client


@pytest.fixture(autouse=True)
def _quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", lambda: hasher)
    monkeypatch.setattr(passwords, "_of_nobody", lambda: passwords._hash("nobody"))
