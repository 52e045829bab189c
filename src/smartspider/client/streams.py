"""Streams that resume after a broken connection or a restarted server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from time import monotonic
from typing import Any, TypeVar

import aiohttp

from smartspider.client.http import CONNECT_S, MAX_MESSAGE_BYTES, ServerConnection
from smartspider.client.retry import ClientRetry
from smartspider.core.errors import NotSignedIn, ServerUnreachable, StoreUnavailable, TooMany

T = TypeVar("T")

READ_TIMEOUT_S = 60.0
"""Timeout between two messages; the server sends several keepalives a minute."""
SIGNED_OUT = 1008
"""Close code: the token is no longer valid."""


async def resumed(
    stream: Callable[[], AsyncGenerator[T | None]],
    retry: ClientRetry,
    clock: Callable[[], float] = monotonic,
) -> AsyncGenerator[T]:
    """Yield the messages of a stream that is reopened whenever it breaks, until it ends.

    A stream yields None when it is connected, and for each keepalive.
    """
    failures, has_started, last_seen_at = 0, False, clock()
    while True:
        try:
            async with aclosing(stream()) as found:
                async for one in found:
                    failures, has_started, last_seen_at = 0, True, clock()
                    if one is not None:
                        yield one
        except (ServerUnreachable, StoreUnavailable, TooMany) as error:
            failures += 1
            if failures >= retry.tries and (not has_started or clock() - last_seen_at > retry.reconnect_s):
                raise
            wait_s = error.retry_after_s if isinstance(error, TooMany) else 0.0
            await asyncio.sleep(max(wait_s, retry.stream_wait_s(failures)))
        else:
            return


async def server_sent(
    connection: ServerConnection, path: str, params: Mapping[str, Any]
) -> AsyncGenerator[bytes | None]:
    """Yield the data of server-sent events; raise `ServerUnreachable` if the stream breaks."""
    timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_S, sock_read=READ_TIMEOUT_S)
    async with connection.open("GET", path, params=params, timeout=timeout) as answer:
        yield None
        rest = b""
        async for piece in answer.content.iter_any():
            *frames, rest = (rest + piece).split(b"\n\n")
            if len(rest) > MAX_MESSAGE_BYTES:
                raise _broken(connection, "a message is too large")
            for frame in frames:
                yield _data(frame)
    raise _broken(connection, "the stream was interrupted")


def _data(frame: bytes) -> bytes | None:
    lines = [line[5:].strip() for line in frame.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None


async def over_websocket(
    connection: ServerConnection, path: str, params: Mapping[str, Any]
) -> AsyncGenerator[bytes | None]:
    """Yield the messages of a WebSocket until the server closes it; raise
    `ServerUnreachable` if it breaks.
    """
    async with connection.websocket(path, params) as socket:
        yield None
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                yield message.data.encode()
    if socket.close_code == SIGNED_OUT:
        raise NotSignedIn("the token of the stream is no longer valid")
    if socket.close_code != 1000:
        raise _broken(connection, "the stream was interrupted")


def _broken(connection: ServerConnection, reason: str) -> ServerUnreachable:
    return ServerUnreachable(f"the server {connection.url} does not respond: {reason}")
