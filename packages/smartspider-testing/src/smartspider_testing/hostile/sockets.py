"""WebSockets that send as much as they can, for servers of one's own.

`python -m smartspider_testing.hostile.sockets URL KIND COUNT SECONDS`, with the token in `SMARTSPIDER_TOKEN`.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from collections import Counter
from contextlib import suppress
from urllib.parse import urlsplit

CHUNK_BYTES = 65_536
PAUSE_S = 0.02
"""Pause after a refused connection."""
_CONTINUATION, _TEXT, _PING, _PONG = 0x0, 0x1, 0x9, 0xA
_FINAL = 0x80


def frame(opcode: int, payload: bytes = b"", *, is_final: bool = True) -> bytes:
    """Return a frame as a client sends it, masked with zeros."""
    length = len(payload)
    head = bytes([opcode | (_FINAL if is_final else 0)])
    if length < 126:
        head += bytes([0x80 | length])
    else:
        head += bytes([0x80 | 126]) + length.to_bytes(2, "big")
    return head + bytes(4) + payload


FLOODS: dict[str, bytes] = {
    "pings": frame(_PING, bytes(125)),
    "empty pings": frame(_PING),
    "pongs": frame(_PONG),
    "messages": frame(_TEXT, b"{}"),
    "empty messages": frame(_TEXT),
    "large messages": frame(_TEXT, b"x" * 60_000),
    "fragments": frame(_TEXT, is_final=False)
    + frame(_CONTINUATION, is_final=False) * 2_000
    + frame(_CONTINUATION),
}
"""Bytes that are sent over and over, by kind."""


async def flood(
    url: str, kind: str, *, count: int, duration_s: float, headers: dict[str, str]
) -> Counter[str]:
    """Open sockets, send on each until it is disconnected, and open it again. Return how often each answer to
    the handshake, and each close code, was seen.
    """
    seen: Counter[str] = Counter()
    with suppress(TimeoutError):
        async with asyncio.timeout(duration_s), asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(_repeat(url, kind, headers, seen))
    return seen


async def _repeat(url: str, kind: str, headers: dict[str, str], seen: Counter[str]) -> None:
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            await flood_once(url, kind, headers, seen)
        await asyncio.sleep(PAUSE_S)


async def flood_once(url: str, kind: str, headers: dict[str, str], seen: Counter[str]) -> None:
    """Open a socket and send until it is disconnected."""
    unit, parts = FLOODS[kind], urlsplit(url)
    chunk = unit * max(1, CHUNK_BYTES // len(unit))
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        given = {
            "Host": parts.netloc,
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            **headers,
        }
        lines = [f"GET {parts.path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        seen[head.split(b" ", 2)[1].decode()] += 1
        if not head.startswith(b"HTTP/1.1 101"):
            return
        reading = asyncio.create_task(_close_code(reader))
        try:
            while not reading.done():
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(0)
        finally:
            reading.cancel()
            (code,) = await asyncio.gather(reading, return_exceptions=True)
            seen[f"closed {code}" if isinstance(code, int) else "disconnected"] += 1
    finally:
        writer.transport.abort()


async def _close_code(reader: asyncio.StreamReader) -> int:
    """Read frames of the server until it closes; return its code."""
    while True:
        first, length = await reader.readexactly(2)
        if length == 126:
            length = int.from_bytes(await reader.readexactly(2), "big")
        elif length == 127:
            length = int.from_bytes(await reader.readexactly(8), "big")
        payload = await reader.readexactly(length)
        if first == _FINAL | 0x8:
            return int.from_bytes(payload[:2], "big")


def main(url: str, kind: str, count: str, duration_s: str) -> None:
    """Attack a server and print what was seen."""
    headers = {"Authorization": f"Bearer {os.environ['SMARTSPIDER_TOKEN']}"}
    attack = flood(url, kind, count=int(count), duration_s=float(duration_s), headers=headers)
    print(dict(asyncio.run(attack)))  # noqa: T201 - the result of the program


if __name__ == "__main__":
    main(*sys.argv[1:])
