"""A wire that can be cut: a proxy on a port of its own before a server that may come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from smartspider.client import ClientRetry

IMPATIENT = ClientRetry(first_wait_s=0.001, max_stream_wait_s=0.01)
"""Retries at once, and not for long."""


class Wire:
    """Passes bytes on to `target`; without one, it hangs up on everybody."""

    def __init__(self) -> None:
        self.target: str | None = None
        self.url = ""
        self.connections = 0
        self.drops_answer = False
        """Let the next request through, and lose its answer."""
        self._open: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Break all connections, as a pulled plug does."""
        for writer in self._open:
            writer.transport.abort()

    def hang_up(self) -> None:
        """Break all connections, and let nobody through until there is a target again."""
        self.target = None
        self.cut()

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.target is None:
            writer.transport.abort()
            return
        parts = urlsplit(self.target)
        try:
            inner_reader, inner_writer = await asyncio.open_connection(parts.hostname, parts.port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, inner_writer}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._copy(reader, inner_writer, is_answer=False))
                group.create_task(self._copy(inner_reader, writer, is_answer=True))
        finally:
            self._open -= {writer, inner_writer}
            writer.transport.abort()
            inner_writer.transport.abort()

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        with suppress(OSError):
            while piece := await reader.read(1 << 16):
                if is_answer and self.drops_answer:
                    self.drops_answer = False
                    break
                writer.write(piece)
                await writer.drain()
        writer.transport.abort()


@asynccontextmanager
async def wire(target: str | None) -> AsyncIterator[Wire]:
    """A wire to a server."""
    made = Wire()
    made.target = target
    server = await asyncio.start_server(made.forward, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        made.cut()
        await server.wait_closed()
