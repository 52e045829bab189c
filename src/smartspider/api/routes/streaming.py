"""Transports of streams: WebSocket and server-sent events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from smartspider.core.errors import Problem, RequestInvalid, SmartSpiderError
from smartspider.services.live.hub import KEEPALIVE, StreamMessage
from smartspider.services.live.streams import END

SSE = "text/event-stream"
RESTARTING = 1012
"""Close code: reconnect and continue."""
FAILED = 1011
"""Close code: an unexpected error."""
RETRY_MS = 1000
"""Delay after which a client of server-sent events reconnects."""

_log = logging.getLogger(__name__)

NUMBER = r"^[0-9]{0,18}$"

After = Annotated[
    str | None,
    Query(pattern=NUMBER, description="Continue after this number: the `id` of the last message received."),
]


def parse_position(text: str | None, name: str = "after") -> int | None:
    """Parse the number to continue after."""
    if text is None or text == "":
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        message = f"{text[:40]!r} is not the number of a message"
        raise RequestInvalid(
            f"{name}: {message}", (Problem(name, message),), hint="use the `id` of the last message received"
        )
    return int(text)


async def over_websocket(websocket: WebSocket, texts: AsyncGenerator[str]) -> None:
    """Send texts until they end (code 1000), the client disconnects, or the server stops (1012)."""
    await websocket.accept()
    sending = asyncio.create_task(_send(websocket, texts))
    disconnecting = asyncio.create_task(_until_disconnected(websocket))
    try:
        await asyncio.wait({sending, disconnecting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, disconnecting):
            task.cancel()
        results = await asyncio.gather(sending, disconnecting, return_exceptions=True)
    if isinstance(results[0], int):
        await websocket.close(results[0])


async def _send(websocket: WebSocket, texts: AsyncGenerator[str]) -> int | None:
    """Return the code to close with; None if the client has disconnected."""
    try:
        async with aclosing(texts):
            async for text in texts:
                if not await is_sent(websocket, text):
                    return None
    except SmartSpiderError:
        return RESTARTING
    except Exception:  # noqa: BLE001 - else a client would take the closed connection for the end of the run
        _log.exception("a stream failed")
        return FAILED
    return 1000


async def is_sent(websocket: WebSocket, text: str) -> bool:
    """Send a text; return False if the client has disconnected."""
    try:
        await websocket.send_text(text)
    except (WebSocketDisconnect, RuntimeError, OSError):  # disconnected in the middle of a message
        return False
    return True


async def _until_disconnected(websocket: WebSocket) -> None:
    """Ignore what the client sends until it disconnects."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


async def websocket_messages(stream: AsyncGenerator[StreamMessage]) -> AsyncGenerator[str]:
    """Yield messages for a WebSocket, which has its own keepalive and ends by being closed."""
    async with aclosing(stream):
        async for one in stream:
            if one is not KEEPALIVE and one.name != END:
                yield one.text


def event_stream(stream: AsyncGenerator[StreamMessage]) -> StreamingResponse:
    """Return messages as server-sent events."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_frames(stream), media_type=SSE, headers=headers)


async def _frames(stream: AsyncGenerator[StreamMessage]) -> AsyncIterator[str]:
    yield f"retry: {RETRY_MS}\n\n"
    try:
        async with aclosing(stream):
            async for one in stream:
                yield ": keepalive\n\n" if one is KEEPALIVE else _frame(one)
    except SmartSpiderError:
        return  # the client reconnects and continues


def _frame(one: StreamMessage) -> str:
    number = "" if one.number is None else f"id: {one.number}\n"
    return f"{number}event: {one.name}\ndata: {one.text}\n\n"


def document_events(description: str) -> dict[str, Any]:
    """Describe a stream of server-sent events in the OpenAPI document."""
    text = {"type": "string"}
    event = {"type": "object", "properties": {"id": text, "event": text, "data": text}, "required": ["data"]}
    content = {SSE: {"schema": event}}
    return {
        "response_class": StreamingResponse,
        "responses": {200: {"description": description, "content": content}},
    }
