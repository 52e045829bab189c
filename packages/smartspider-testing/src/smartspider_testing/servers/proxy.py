"""A TCP proxy that can be cut, frozen and slowed."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Self

from smartspider_testing.servers.errors import ServerFailed
from smartspider_testing.servers.ports import free_port
from smartspider_testing.waiting import WAIT_S, join

CHUNK = 65_536
HELD_CHUNKS = 64
RESET = struct.pack("ii", 1, 0)
"""The linger option of a socket that closes with a reset and discards unsent data."""

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class TcpProxy:
    """Forwards bytes between its own port and a server, in a thread of its own.

    `latency_s` delays each direction and may change at any time; bytes in transit keep their order.
    """

    def __init__(self, target_host: str, target_port: int) -> None:
        self.url_port = free_port()
        self.latency_s = 0.0
        self._target = (target_host, target_port)
        self._traps: list[_Trap] = []
        self._links: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def connections(self) -> int:
        """The number of open connections, frozen ones included."""
        return len(self._links)

    def start(self) -> Self:
        """Start listening."""
        is_ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live(is_ready)), name=f"proxy {self.url_port}", daemon=True
        )
        self._thread.start()
        if not is_ready.wait(WAIT_S):
            raise ServerFailed(f"the proxy could not listen on port {self.url_port}")
        return self

    def stop(self) -> None:
        """Close all connections and end the thread."""
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._is_over.set)
            join(self._thread)
            self._thread = None

    def cut(self) -> None:
        """Close all connections and refuse new ones; return once that is done."""
        self._tell(self._cut)

    def restore(self) -> None:
        """Accept connections again after a `cut`."""
        self._tell(self._listen)

    def freeze(self) -> None:
        """Forward nothing and close nothing: connections are accepted, but no byte passes."""
        self._tell(lambda: _at_once(self._flows.clear))

    def resume(self) -> None:
        """Forward again; delayed bytes arrive late, as after a partition."""
        self._tell(lambda: _at_once(self._flows.set))

    def drop_answer_once(self, pattern: bytes) -> threading.Event:
        """Forward the next request that contains the pattern, and reset its connection instead of answering.

        The event is set afterwards: the server has answered, and the answer is lost.
        """
        trap = _Trap(pattern)
        self._tell(lambda: _at_once(lambda: self._traps.append(trap)))
        return trap.sprung

    def _tell(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._thread is None:
            raise ServerFailed("the proxy is not running")
        asyncio.run_coroutine_threadsafe(act(), self._loop).result(WAIT_S)

    async def _live(self, is_ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._is_over = asyncio.Event()
        self._flows = asyncio.Event()
        self._flows.set()
        await self._listen()
        is_ready.set()
        await self._is_over.wait()
        await self._cut()

    async def _listen(self) -> None:
        if self._listener is None:
            self._listener = await asyncio.start_server(self._accept, "127.0.0.1", self.url_port)

    async def _cut(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        while self._links:
            for task in self._links:
                task.cancel()
            await asyncio.wait(self._links)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._links.add(task)
        try:
            # `cut` cancels this task on purpose, so it ends quietly.
            with suppress(asyncio.CancelledError, OSError, _Severed):
                await self._pass(reader, writer)
        finally:
            self._links.discard(task)

    async def _pass(self, *client: *Ends) -> None:
        server: Ends | None = None
        try:
            await self._flows.wait()
            server = await asyncio.open_connection(*self._target)
            link = _Link(self)
            await _both(link.forth(client[0], server[1]), link.back(server[0], client[1]))
        except BaseException:
            for ends in (client, server):
                if ends is not None:
                    _reset(ends[1])
            raise
        client[1].close()
        server[1].close()

    async def delay(self, due_at: float) -> None:
        """Return once bytes that were due at that loop time may pass."""
        if (rest_s := due_at - self._loop.time()) > 0:
            await asyncio.sleep(rest_s)
        await self._flows.wait()

    def trap_for(self, seen: bytes) -> _Trap | None:
        """Remove and return the trap that these bytes trigger."""
        found = next((trap for trap in self._traps if trap.pattern in seen), None)
        if found is not None:
            self._traps.remove(found)
        return found

    @property
    def longest_pattern(self) -> int:
        """The number of forwarded bytes to keep for matching."""
        return max((len(trap.pattern) for trap in self._traps), default=0)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()


class _Severed(Exception):
    """A trap was triggered: the connection ends here."""


class _Trap:
    """Waits for a request with a pattern."""

    def __init__(self, pattern: bytes) -> None:
        self.pattern = pattern
        self.sprung = threading.Event()


class _Link:
    """The two directions of one connection."""

    def __init__(self, proxy: TcpProxy) -> None:
        self._proxy = proxy
        self._trap: _Trap | None = None

    async def forth(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward from the client to the server, matching patterns across packet boundaries."""
        seen = b""

        def deliver(block: bytes, _: _Trap | None) -> None:
            nonlocal seen
            seen += block
            self._trap = self._trap or self._proxy.trap_for(seen)
            seen = seen[-self._proxy.longest_pattern :] if self._proxy.longest_pattern else b""
            writer.write(block)

        await self._flow(reader, writer, deliver)

    async def back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward from the server to the client, up to an answer to be dropped."""

        def deliver(block: bytes, trap: _Trap | None) -> None:
            if trap is not None:
                trap.sprung.set()
                raise _Severed
            writer.write(block)

        await self._flow(reader, writer, deliver)

    async def _flow(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        deliver: Callable[[bytes, _Trap | None], None],
    ) -> None:
        # Bytes are timestamped on arrival, so latency delays a stream without reducing its throughput.
        held: asyncio.Queue[tuple[float, bytes, _Trap | None]] = asyncio.Queue(HELD_CHUNKS)
        loop = asyncio.get_running_loop()

        async def take() -> None:
            block = b"."
            while block:
                block = await reader.read(CHUNK)
                await held.put((loop.time() + self._proxy.latency_s, block, self._trap))

        async def give() -> None:
            while True:
                due_at, block, trap = await held.get()
                await self._proxy.delay(due_at)
                if not block:
                    break
                deliver(block, trap)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()

        await _both(take(), give())


async def _both(first: Coroutine[Any, Any, None], second: Coroutine[Any, Any, None]) -> None:
    """Run both to completion; if one fails, cancel the other and raise the failure unchanged."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(first)
            group.create_task(second)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _at_once(act: Callable[[], object]) -> None:
    act()


def _reset(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()
