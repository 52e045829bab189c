"""The API as a server on a free port, and its admin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, Caller, open_services, serving

from smartspider.api.limits import ApiLimits
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
async def api(services: Services, limits: ApiLimits) -> AsyncIterator[Caller]:
    """The admin, at a running API."""
    async with serving(services, limits=limits) as base, aiohttp.ClientSession() as session:
        yield Caller(session, base, ADMIN_TOKEN)
