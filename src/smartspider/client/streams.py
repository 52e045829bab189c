"""Streams that go on after a broken connection or a restarted server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from time import monotonic
from typing import Any, TypeVar

import aiohttp

from smartspider.client.http import CONNECT_S, LARGEST_MESSAGE, TRIES, ServerConnection, backoff_s
from smartspider.core.errors import NotSignedIn, ServerUnreachable, StoreUnavailable, TooMany

T = TypeVar("T")

PATIENCE_S = 300.0
"""How long a server may be away from a stream that has begun."""
SILENT_S = 60.0
"""A stream that says nothing for so long is broken: the server says several times a minute that it lives."""
SIGNED_OUT = 1008
"""Close code: whoever watches is let in no more."""


async def resumed(stream: Callable[[], AsyncGenerator[T | None]]) -> AsyncGenerator[T]:
    """All that streams give, each begun where the one before broke off, until one ends by itself.

    A stream gives None when it is connected, and whenever it hears that the server lives.
    """
    failures, has_begun, away_since = 0, False, monotonic()
    while True:
        try:
            async with aclosing(stream()) as found:
                async for one in found:
                    failures, has_begun, away_since = 0, True, monotonic()
                    if one is not None:
                        yield one
        except (ServerUnreachable, StoreUnavailable, TooMany) as error:
            failures += 1
            if failures >= TRIES and (not has_begun or monotonic() - away_since > PATIENCE_S):
                raise
            asked_s = error.retry_after_s if isinstance(error, TooMany) else 0.0
            await asyncio.sleep(max(asked_s, backoff_s(failures, 5.0)))
        else:
            return


async def server_sent(
    connection: ServerConnection, path: str, params: Mapping[str, Any]
) -> AsyncGenerator[bytes | None]:
    """The data of server-sent events; raises `ServerUnreachable` where they break off."""
    timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_S, sock_read=SILENT_S)
    async with connection.open("GET", path, params=params, timeout=timeout) as answer:
        yield None
        rest = b""
        async for piece in answer.content.iter_any():
            *frames, rest = (rest + piece).split(b"\n\n")
            if len(rest) > LARGEST_MESSAGE:
                raise _broken(connection, "a message is too large")
            for frame in frames:
                yield _data(frame)
    raise _broken(connection, "the stream broke off")


def _data(frame: bytes) -> bytes | None:
    lines = [line[5:].strip() for line in frame.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None


async def over_websocket(
    connection: ServerConnection, path: str, params: Mapping[str, Any]
) -> AsyncGenerator[bytes | None]:
    """The messages of a WebSocket until the server closes it; raises `ServerUnreachable` where it breaks."""
    async with connection.websocket(path, params) as socket:
        yield None
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                yield message.data.encode()
    if socket.close_code == SIGNED_OUT:
        raise NotSignedIn("the token that the stream was opened with is good no more")
    if socket.close_code != 1000:
        raise _broken(connection, "the stream broke off")


def _broken(connection: ServerConnection, how: str) -> ServerUnreachable:
    return ServerUnreachable(f"the server {connection.url} does not answer: {how}")
