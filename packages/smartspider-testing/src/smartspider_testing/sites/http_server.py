"""A minimal HTTP/1.1 server that timestamps every request and lets a test write any bytes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import cast

import msgspec

_MAX_HEAD = 1 << 20


class ReceivedRequest(msgspec.Struct):
    """A request received by the server."""

    arrived_at: float
    """Monotonic time at which its first bytes were read from the socket."""
    method: str
    path: str
    """Path and query, as sent."""
    headers: dict[str, str]
    """Names are in lower case."""
    peer: str
    body: bytes = b""
    answered_at: float | None = None
    """Monotonic time at which the response was complete, or None before that."""

    @property
    def host(self) -> str:
        """The requested host name without the port."""
        host = self.headers.get("host", "")
        return host[: host.index("]") + 1] if host.startswith("[") else host.partition(":")[0]


class SiteExchange:
    """One request and the connection to answer on."""

    def __init__(self, arrival: ReceivedRequest, connection: _Connection) -> None:
        self.arrival = arrival
        self._connection = connection

    async def write(self, chunk: bytes) -> None:
        """Send bytes unchanged. Wait while the peer reads slowly; raise `ConnectionResetError` if it has
        disconnected.
        """
        await self._connection.write(chunk)

    async def reply(self, status: int, headers: Sequence[tuple[str, str]] = (), body: bytes = b"") -> None:
        """Send a complete response; add Content-Length unless it is given."""
        named = {name.lower() for name, _ in headers}
        lines = list(headers)
        if "content-length" not in named and status not in {204, 304}:
            lines.append(("Content-Length", str(len(body))))
        await self.head(status, lines)
        if self.arrival.method != "HEAD" and body:
            await self.write(body)

    async def head(self, status: int, headers: Sequence[tuple[str, str]] = ()) -> None:
        """Send a status line and headers only."""
        try:
            phrase = HTTPStatus(status).phrase
        except ValueError:
            phrase = "Unknown"
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
        await self.write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def close(self) -> None:
        """Close the connection once everything is sent."""
        self._connection.finish()

    def abort(self) -> None:
        """Close the connection at once, with a reset where the system sends one."""
        self._connection.abort()

    async def until_gone(self) -> None:
        """Wait until the peer disconnects or the server stops."""
        await self._connection.gone.wait()


Handler = Callable[[SiteExchange], Awaitable[None]]


class _Connection(asyncio.Protocol):
    """A client connection: timestamp requests as they arrive and answer them in order."""

    def __init__(self, handler: Handler, open_ones: set[_Connection]) -> None:
        self._handler = handler
        self._open_ones = open_ones
        self._buffer = bytearray()
        self._first_byte_at = 0.0
        self._answering: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self._peer = ""
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports behave like asyncio.Transport without being a subclass.
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self._peer = f"{peer[0]}:{peer[1]}" if peer else ""
        self._writable.set()
        self._open_ones.add(self)

    def connection_lost(self, _reason: Exception | None) -> None:
        self._open_ones.discard(self)
        self.gone.set()
        self._writable.set()
        if self._answering is not None:
            self._answering.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        if not self._buffer:
            self._first_byte_at = time.monotonic()
        self._buffer += data
        if len(self._buffer) > _MAX_HEAD:
            self.abort()
        elif self._answering is None:
            self._answer_next()

    def _answer_next(self) -> None:
        arrival = self._take_request()
        if arrival is not None:
            self._answering = asyncio.get_running_loop().create_task(self._answer(arrival))

    async def _answer(self, arrival: ReceivedRequest) -> None:
        try:
            with suppress(ConnectionError):
                await self._handler(SiteExchange(arrival, self))
        except Exception:
            self.abort()
            raise
        finally:
            arrival.answered_at = time.monotonic()
            self._answering = None
        if arrival.headers.get("connection", "").lower() == "close":
            self.finish()
        elif self._buffer and not self.gone.is_set():
            self._first_byte_at = time.monotonic()
            self._answer_next()

    def _take_request(self) -> ReceivedRequest | None:
        head, mark, rest = bytes(self._buffer).partition(b"\r\n\r\n")
        if not mark:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        method, _, target = first.partition(" ")
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return None
        self._buffer = bytearray(rest[length:])
        path = target.rpartition(" ")[0]
        return ReceivedRequest(self._first_byte_at, method, path, headers, self._peer, rest[:length])

    async def write(self, chunk: bytes) -> None:
        await self._writable.wait()
        if self._transport is None or self._transport.is_closing() or self.gone.is_set():
            raise ConnectionResetError("the client has gone")
        self._transport.write(chunk)

    def finish(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


@asynccontextmanager
async def listen_http(
    handler: Handler, hosts: Sequence[str] = ("127.0.0.1",), port: int = 0
) -> AsyncIterator[int]:
    """Serve on the same port of all `hosts` and yield that port; close every connection on exit."""
    loop = asyncio.get_running_loop()
    open_ones: set[_Connection] = set()
    servers: list[asyncio.Server] = []
    try:
        for host in hosts:
            server = await loop.create_server(
                lambda: _Connection(handler, open_ones), host, port, backlog=1024
            )
            servers.append(server)
            port = server.sockets[0].getsockname()[1]
        yield port
    finally:
        for server in servers:
            server.close()
        lost = [connection.gone for connection in open_ones]
        for connection in list(open_ones):
            connection.abort()
        for gone in lost:
            await gone.wait()
        for server in servers:
            await server.wait_closed()
