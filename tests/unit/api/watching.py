"""Somebody who watches: WebSockets and server-sent events, read message by message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from tests.unit.api.asking import Caller

from smartspider.core.runs.run import Run
from smartspider.operations.services import Services
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.waiting import WAIT_S


async def until(is_so: Callable[[], object]) -> None:
    """Wait for something."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.002)


async def new_run(services: Services, name: str = "task") -> Run:
    """A run that is running."""
    run = await services.installation.store.create_run(plan_of("one", name=name))
    return await services.installation.store.set_state(run.id, "running")


@asynccontextmanager
async def watching(api: Caller, path: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A WebSocket."""
    headers = {"Authorization": f"Bearer {api.token}"} if api.token else {}
    async with api.session.ws_connect(api.base + path, headers=headers, max_msg_size=0) as socket:
        yield socket


async def receive(socket: aiohttp.ClientWebSocketResponse) -> Any:
    """The next message."""
    async with asyncio.timeout(WAIT_S):
        return msgspec.json.decode(await socket.receive_str())


async def receive_all(socket: aiohttp.ClientWebSocketResponse) -> list[Any]:
    """All messages until the server closes."""
    async with asyncio.timeout(WAIT_S):
        found = [msgspec.json.decode(message.data) async for message in socket]
    assert socket.close_code == 1000
    return found


async def refusal(api: Caller, path: str) -> int:
    """The status a WebSocket is refused with."""
    try:
        async with watching(api, path):
            return 101
    except aiohttp.WSServerHandshakeError as error:
        return error.status


@asynccontextmanager
async def listening(
    api: Caller, path: str, headers: dict[str, str] | None = None
) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """Server-sent events, each as id, event and data."""
    sent = {"Authorization": f"Bearer {api.token}", **(headers or {})}
    async with api.session.get(api.base + path, headers=sent) as answer:
        assert answer.status == 200, await answer.read()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield _frames(answer)


async def _frames(answer: aiohttp.ClientResponse) -> AsyncIterator[dict[str, Any]]:
    frame: dict[str, Any] = {}
    async with asyncio.timeout(WAIT_S):
        async for line in answer.content:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name in ("id", "event", "data"):
                frame[name] = msgspec.json.decode(value) if name == "data" else value
            elif not name and frame:
                yield frame
                frame = {}
