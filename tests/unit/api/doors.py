"""Servers with settings of their own, and people and programs who come to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from tests.unit.api.asking import ADMIN_TOKEN, ENVIRONMENT, Caller, open_services, serving

from smartspider.core.access import Principal, Role
from smartspider.installation.settings import read_settings
from smartspider.operations.services import Services
from smartspider.services.access import tokens, users
from smartspider.services.access.authenticator import ADMIN
from smartspider.services.access.tokens import TokenRequest

PASSWORD = "canary-horse-battery-staple"


@asynccontextmanager
async def api_with(path: Path, **settings: str) -> AsyncIterator[Caller]:
    """The admin, at an API with these settings."""
    given = {f"SMARTSPIDER_{name.upper()}": text for name, text in settings.items()}
    chosen = read_settings({**ENVIRONMENT, **given}, path)
    async with (
        open_services(path, chosen) as services,
        serving(services) as base,
        aiohttp.ClientSession() as session,
    ):
        yield Caller(session, base, ADMIN_TOKEN)


async def add_user(services: Services, name: str = "bob", role: Role = "operator") -> None:
    """Somebody who can sign in with `PASSWORD`."""
    await users.create_user(services.access, ADMIN, name, role, PASSWORD)


async def make_token(services: Services, name: str, role: Role, *, by: Principal = ADMIN, **more: Any) -> str:
    """The secret of a new token."""
    return (await tokens.create_token(services.access, by, TokenRequest(name, role, **more))).token


async def sign_in(api: Caller, name: str = "bob", password: str = PASSWORD) -> dict[str, Any]:
    """A new session."""
    sent = {"username": name, "password": password}
    found: dict[str, Any] = (await api.with_token(None).post("/api/auth/token", sent)).expect(200).json
    return found
