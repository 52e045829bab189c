"""A server on a free port, and clients of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, open_services, serving
from tests.unit.client.breaking import IMPATIENT, Wire, wire

from smartspider.api.limits import ApiLimits
from smartspider.client import Client
from smartspider.operations.services import Services


@pytest.fixture
def limits() -> ApiLimits:
    """The limits of the API; tests parametrize it to have others."""
    return ApiLimits()


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with open_services(tmp_path / "data", SETTINGS) as opened:
        yield opened


@pytest.fixture
async def url(services: Services, limits: ApiLimits) -> AsyncIterator[str]:
    async with serving(services, limits=limits) as base:
        yield base


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    """The admin."""
    async with Client(url, ADMIN_TOKEN) as client:
        yield client


@pytest.fixture
async def cut(url: str) -> AsyncIterator[Wire]:
    async with wire(url) as made:
        yield made


@pytest.fixture
async def far(cut: Wire) -> AsyncIterator[Client]:
    """A client at the end of a wire that can be cut."""
    async with Client(cut.url, ADMIN_TOKEN, retry=IMPATIENT) as client:
        yield client
