"""How a stream over a WebSocket ends: the close code tells a watcher what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message
from starlette.websockets import WebSocket

from smartspider.api.routes.streaming import over_websocket
from smartspider.core.errors import StoreUnavailable


async def texts(error: Exception | None) -> AsyncGenerator[str]:
    yield "one"
    if error is not None:
        raise error


async def code_after(error: Exception | None, *, is_gone: bool = False) -> int | None:
    """The code a watcher is sent away with; None: nobody was there to be told."""
    said: list[Message] = []
    asked = iter([{"type": "websocket.connect"}])

    async def receive() -> Message:
        for message in asked:
            return message
        return await asyncio.Future()  # they listen, and say nothing

    async def send(message: Message) -> None:
        if is_gone and message["type"] == "websocket.send":
            raise OSError
        said.append(message)

    await over_websocket(WebSocket({"type": "websocket"}, receive, send), texts(error))
    last = said[-1]
    return last["code"] if last["type"] == "websocket.close" else None


async def test_what_is_over_is_closed_as_over() -> None:
    assert await code_after(None) == 1000


async def test_who_watches_a_server_that_stops_is_to_come_back() -> None:
    assert await code_after(StoreUnavailable("the server is shutting down")) == 1012


@pytest.mark.parametrize("error", [KeyError("x"), RuntimeError("x"), OSError("x")])
async def test_what_nobody_expected_is_logged_and_is_not_the_end_of_the_run(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    assert await code_after(error) == 1011
    assert "a stream failed" in caplog.text


async def test_who_is_gone_is_told_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert await code_after(None, is_gone=True) is None
    assert not caplog.records
