"""The API as a server on a free port, and somebody who asks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import uvicorn
from tests.unit.quick_passwords import quick_passwords

from smartspider.api.app import create_app
from smartspider.api.limits import ApiLimits
from smartspider.api.websocket_limits import InboundBudgets, InboundRates, LimitedWebSocket
from smartspider.installation.settings import Settings
from smartspider.operations.operation import Operation
from smartspider.operations.services import Services
from smartspider.operations.table import OPERATIONS
from smartspider.wiring.opening import open_installation

ADMIN_TOKEN = "token-of-the-admin"
SETTINGS = Settings(admin_token=ADMIN_TOKEN, allow_private="127.0.0.1")
ENVIRONMENT = {"SMARTSPIDER_ADMIN_TOKEN": ADMIN_TOKEN, "SMARTSPIDER_ALLOW_PRIVATE": "127.0.0.1"}


class Caller:
    """Asks the API with a token."""

    def __init__(self, session: aiohttp.ClientSession, base: str, token: str | None) -> None:
        self.session, self.base, self.token = session, base, token

    def with_token(self, token: str | None) -> Caller:
        return Caller(self.session, self.base, token)

    async def __call__(self, method: str, path: str, **more: Any) -> Answer:
        headers = {
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
            **more.pop("headers", {}),
        }
        async with self.session.request(method, self.base + path, headers=headers, **more) as answer:
            return Answer(answer.status, dict(answer.headers), await answer.read())

    async def get(self, path: str, **more: Any) -> Answer:
        return await self("GET", path, **more)

    async def post(self, path: str, json: Any = None, **more: Any) -> Answer:
        return await self("POST", path, json=json, **more)


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    def expect(self, status: int) -> Answer:
        assert self.status == status, f"{self.status} instead of {status}: {self.body[:2000]!r}"
        return self


@asynccontextmanager
async def open_services(path: Path, settings: Settings) -> AsyncIterator[Services]:
    """The services of an API process on a data folder."""
    async with open_installation(path, settings, "api") as installation:
        services = Services(installation, accepts_admin_token=True, passwords=quick_passwords())
        try:
            yield services
        finally:
            await services.close()


@asynccontextmanager
async def serving(
    services: Services,
    operations: tuple[Operation, ...] = OPERATIONS,
    limits: ApiLimits = ApiLimits(),
    rates: InboundRates = InboundRates(),
) -> AsyncIterator[str]:
    """The API on a free port; its address."""
    config = uvicorn.Config(
        create_app(services, operations, limits),
        port=0,
        log_config=None,
        lifespan="on",
        ws=partial(LimitedWebSocket, budgets=InboundBudgets(rates)),  # type: ignore[arg-type]  # it is only called
        proxy_headers=False,
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    await server.on_tick(0)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        await _stop(server)


async def _stop(server: uvicorn.Server) -> None:
    """What the server does at its end, without the tenths of a second that it sleeps meanwhile."""
    for listening in server.servers:
        listening.close()
    state = server.server_state
    for connection in list(state.connections):
        connection.shutdown()
    while True:
        if not state.connections and not state.tasks:
            break
        await asyncio.sleep(0.001)
    for listening in server.servers:
        await listening.wait_closed()
    await server.lifespan.shutdown()
