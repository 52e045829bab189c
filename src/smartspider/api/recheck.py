"""What stays open is not open for ever: whoever is let in no more is sent away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive, Send

EVERY_S = 5.0
"""How often somebody who watches is looked at again."""
NOT_ANY_MORE = 1008
"""Close code: against the rules."""

IsGood = Callable[[], Awaitable[bool]]


def rechecked(kind: str, receive: Receive, send: Send, is_good: IsGood) -> Receive:
    """`receive` of a kind of scope, with an end that comes also when `is_good` says no."""
    is_waiting = False

    async def received() -> Message:
        nonlocal is_waiting
        if not is_waiting:
            message = await receive()
            is_waiting = message["type"] != "http.request" or not message.get("more_body", False)
            return message
        coming = asyncio.ensure_future(receive())
        try:
            while True:
                done, _ = await asyncio.wait({coming}, timeout=EVERY_S)
                if done:
                    return coming.result()
                if not await is_good():
                    return await _end(send, is_websocket=kind == "websocket")
        finally:
            coming.cancel()

    return received


async def _end(send: Send, *, is_websocket: bool) -> Message:
    if is_websocket:
        await send({"type": "websocket.close", "code": NOT_ANY_MORE, "reason": "signed out"})
        return {"type": "websocket.disconnect", "code": NOT_ANY_MORE, "reason": "signed out"}
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return {"type": "http.disconnect"}
