"""Streams to watchers: over a WebSocket, and as server-sent events."""

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
from smartspider.services.following import BEAT, END, Told

SSE = "text/event-stream"
RESTARTING = 1012
"""Close code: come back and go on."""
FAILED = 1011
"""Close code: something unexpected happened here."""
RETRY_MS = 1000
"""How soon a client of server-sent events comes back."""

_log = logging.getLogger(__name__)

NUMBER = r"^[0-9]{0,18}$"

After = Annotated[
    str | None,
    Query(pattern=NUMBER, description="Go on after this number: the `id` of the last message seen."),
]


def number_after(text: str | None, name: str = "after") -> int | None:
    """A number to go on after."""
    if text is None or text == "":
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        message = f"{text[:40]!r} is not the number of a message"
        raise RequestInvalid(
            f"{name}: {message}", (Problem(name, message),), hint="use `id` of the last one seen"
        )
    return int(text)


async def over_websocket(websocket: WebSocket, texts: AsyncGenerator[str]) -> None:
    """Send texts until there are no more (code 1000), the caller leaves, or the server stops (1012)."""
    await websocket.accept()
    sending = asyncio.create_task(_send(websocket, texts))
    leaving = asyncio.create_task(_until_gone(websocket))
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        results = await asyncio.gather(sending, leaving, return_exceptions=True)
    if isinstance(results[0], int):
        await websocket.close(results[0])


async def _send(websocket: WebSocket, texts: AsyncGenerator[str]) -> int | None:
    """The code to close with; None when the caller is gone."""
    try:
        async with aclosing(texts):
            async for text in texts:
                if not await _is_sent(websocket, text):
                    return None
    except SmartSpiderError:
        return RESTARTING
    except Exception:  # noqa: BLE001 - else a watcher would take the end of the connection for that of the run
        _log.exception("a stream broke off")
        return FAILED
    return 1000


async def _is_sent(websocket: WebSocket, text: str) -> bool:
    try:
        await websocket.send_text(text)
    except (WebSocketDisconnect, RuntimeError, OSError):  # gone in the middle of a message
        return False
    return True


async def _until_gone(websocket: WebSocket) -> None:
    """What a watcher says is not listened to."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


async def messages(told: AsyncGenerator[Told]) -> AsyncGenerator[str]:
    """Messages for a WebSocket, which has beats of its own and ends by being closed."""
    async with aclosing(told):
        async for one in told:
            if one is not BEAT and one.name != END:
                yield one.text


def as_events(told: AsyncGenerator[Told]) -> StreamingResponse:
    """Messages as server-sent events."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_frames(told), media_type=SSE, headers=headers)


async def _frames(told: AsyncGenerator[Told]) -> AsyncIterator[str]:
    yield f"retry: {RETRY_MS}\n\n"
    try:
        async with aclosing(told):
            async for one in told:
                yield ": still here\n\n" if one is BEAT else _frame(one)
    except SmartSpiderError:
        return  # the caller comes back and goes on


def _frame(one: Told) -> str:
    number = "" if one.number is None else f"id: {one.number}\n"
    return f"{number}event: {one.name}\ndata: {one.text}\n\n"


def answers_events(description: str) -> dict[str, Any]:
    """What the document says of a stream of server-sent events."""
    text = {"type": "string"}
    event = {"type": "object", "properties": {"id": text, "event": text, "data": text}, "required": ["data"]}
    content = {SSE: {"schema": event}}
    return {
        "response_class": StreamingResponse,
        "responses": {200: {"description": description, "content": content}},
    }
