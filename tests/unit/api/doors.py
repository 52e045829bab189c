"""Servers with settings of their own, and people and programs who come to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, Caller, serving

from smartspider.core.access import Principal, Role
from smartspider.services import tokens, users
from smartspider.services.bearers import ADMIN
from smartspider.services.tokens import Wish
from smartspider.wiring.house import House, open_house

PASSWORD = "canary-horse-battery-staple"


@asynccontextmanager
async def api_with(path: Path, **settings: str) -> AsyncIterator[Caller]:
    """The admin, at an API with these settings."""
    chosen = msgspec.structs.replace(SETTINGS, **settings)
    async with (
        open_house(path, chosen) as house,
        serving(house) as base,
        aiohttp.ClientSession() as session,
    ):
        yield Caller(session, base, ADMIN_TOKEN)


async def add_user(house: House, name: str = "bob", role: Role = "operator") -> None:
    """Somebody who can sign in with `PASSWORD`."""
    await users.add(house.access, ADMIN, name, role, PASSWORD)


async def make_token(house: House, name: str, role: Role, *, by: Principal = ADMIN, **more: Any) -> str:
    """The secret of a new token."""
    return (await tokens.make(house.access, by, Wish(name, role, **more))).token


async def sign_in(api: Caller, name: str = "bob", password: str = PASSWORD) -> dict[str, Any]:
    """A new session."""
    sent = {"username": name, "password": password}
    found: dict[str, Any] = (await api.with_token(None).post("/api/auth/token", sent)).expect(200).json
    return found
