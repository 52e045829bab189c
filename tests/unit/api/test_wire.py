"""Connections of a client that never ends, never reads or says too much."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

import msgspec
import pytest
from tests.unit.api.asking import Caller

from smartspider.api.connection_limits import ConnectionLimits
from smartspider.api.server import build_server
from smartspider_testing.hostile.sockets import frame
from smartspider_testing.waiting import WAIT_S

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
AMOUNT = 50_000_000
LARGE_HEADER = b"X: " + b"a" * (ConnectionLimits().max_head_bytes + 1)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the length of the body and of the headers, or with a flood."""
    came = 0
    while (message := await receive())["type"] == "http.request":
        came += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/flood":
        for _ in range(AMOUNT // 100_000):
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        came = -1
    names = b",".join(name for name, _ in scope["headers"])
    await send({"type": "http.response.body", "body": b"%d %b" % (came, names)})


@asynccontextmanager
async def listening(serves: Any = app, limits: ConnectionLimits | None = None) -> AsyncIterator[int]:
    made = build_server(serves, limits, port=0, timeout_graceful_shutdown=1)
    task = asyncio.create_task(made.serve())
    while not made.started:  # noqa: ASYNC110 - it has no event for it
        await asyncio.sleep(0.001)
    try:
        yield made.servers[0].sockets[0].getsockname()[1]
    finally:
        made.should_exit = True
        await task


async def said(port: int, *pieces: bytes) -> bytes:
    """Everything the server says until it hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        async with asyncio.timeout(WAIT_S):
            return await reader.read()
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def test_who_does_not_finish_the_headers_is_sent_away() -> None:
    async with listening(limits=ConnectionLimits(head_timeout_s=0.05)) as port:
        assert (await said(port, HEAD)).startswith(b"HTTP/1.1 408 ")
        assert await said(port) == b"", "somebody who says nothing is told nothing"


async def test_who_does_not_finish_the_second_request_is_sent_away() -> None:
    async with listening(limits=ConnectionLimits(head_timeout_s=0.2)) as port:
        answers = await said(port, HEAD + b"\r\n" + HEAD)
        assert answers.count(b"HTTP/1.1 200 ") == 1
        assert answers.count(b"HTTP/1.1 408 ") == 1


async def test_who_does_not_finish_the_body_is_sent_away() -> None:
    async with listening(limits=ConnectionLimits(body_timeout_s=0.05)) as port:
        answer = await said(port, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nfew")
        assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    ("bytes_", "status"),
    [(b"tea please\r\n\r\n", 400), (HEAD + LARGE_HEADER, 431)],
)
async def test_who_is_sent_away_is_told_why_and_what_to_do(bytes_: bytes, status: int) -> None:
    async with listening() as port:
        head, _, body = (await said(port, bytes_)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/problem+json" in head
    problem = msgspec.json.decode(body)
    assert problem["status"] == status
    assert problem["code"]
    assert problem["detail"]
    assert problem["hint"]


async def test_headers_without_end_are_refused() -> None:
    async with listening() as port:
        answer = await said(port, HEAD + LARGE_HEADER)
        assert answer.startswith(b"HTTP/1.1 431 ")
        answer = await said(port, HEAD + b"Connection: close\r\nX: " + b"a" * 30_000 + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 ")


async def test_a_large_body_is_no_large_head() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n"
    async with listening() as port:
        assert b"1000000 " in await said(port, head + b"a" * 1_000_000)


async def test_what_comes_after_a_body_is_no_header() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with listening() as port:
        answer = await said(port, head + b"1\r\na\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
        assert b"1 host,connection,transfer-encoding" in answer
        assert b"authorization" not in answer


async def test_who_reads_nothing_of_an_answer_is_sent_away() -> None:
    is_over = asyncio.Event()

    async def flood(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "path": "/flood"}, receive, send)
        is_over.set()

    async with listening(flood, ConnectionLimits(write_timeout_s=0.05)) as port:
        with closing(socket.create_connection(("127.0.0.1", port))) as client:
            client.sendall(HEAD + b"\r\n")
            async with asyncio.timeout(WAIT_S):
                await is_over.wait()


UPGRADE = (
    HEAD + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def test_a_websocket_whose_client_reads_nothing_is_disconnected() -> None:
    is_over = asyncio.Event()

    async def endless(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        try:
            while True:
                await send({"type": "websocket.send", "bytes": b"x" * 100_000})
                await asyncio.sleep(0)
        finally:
            is_over.set()

    async with listening(endless, ConnectionLimits(write_timeout_s=0.05)) as port:
        with closing(socket.create_connection(("127.0.0.1", port))) as client:
            client.sendall(UPGRADE)
            async with asyncio.timeout(WAIT_S):
                await is_over.wait()


async def test_a_websocket_that_sends_before_the_handshake_is_over_is_disconnected() -> None:
    is_asked, is_over = asyncio.Event(), asyncio.Event()

    async def undecided(_scope: Any, receive: Any, _send: Any) -> None:
        is_asked.set()
        while (await receive())["type"] != "websocket.disconnect":
            pass
        is_over.set()

    async with listening(undecided) as port:
        with closing(socket.create_connection(("127.0.0.1", port))) as client:
            client.sendall(UPGRADE)
            async with asyncio.timeout(WAIT_S):
                await is_asked.wait()
                client.sendall(frame(0x9))
                await is_over.wait()


async def test_more_connections_than_there_may_be_are_refused() -> None:
    async with listening(limits=ConnectionLimits(max_connections=2)) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        await asyncio.sleep(0)
        assert (await said(port)).startswith(b"HTTP/1.1 503 ")
        for _, writer in held:
            writer.close()
        for _, writer in held:
            await writer.wait_closed()
        async with asyncio.timeout(WAIT_S):
            while b"HTTP/1.1 200 " not in await said(port, HEAD + b"Connection: close\r\n\r\n"):
                pass


async def test_who_leaves_in_the_middle_of_a_body_is_no_error(
    api: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    host, port = api.base.removeprefix("http://").split(":")
    for path in ("/api/tasks", "/api/schedules"):
        _, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api.token}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{".encode())
        await writer.drain()
        await api.get("/api/auth/me")  # so that the other one is being answered
        writer.close()
        await writer.wait_closed()
        await api.get("/api/auth/me")
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
