"""One HTTP exchange: when its bytes may be sent, when it times out, and its body and headers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import quote_from_bytes

from aiohttp import ClientResponse, StreamReader
from aiohttp.connector import Connection
from multidict import CIMultiDict

from smartspider.core.errors import TooLarge
from smartspider.core.limits.waiting import FetchProgress
from smartspider.fetch.decompression import BodyDecompressor, decompressor_for
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Permit

PreparedHeaders = tuple[CIMultiDict[str], bool]
"""Headers with a slot for Host in front, and whether the request sets Host itself."""


class StaleConnection(Exception):
    """The connection closed while waiting for the permit; nothing was sent."""


class PermittedSend:
    """Enters the permit once the connection is open, and starts the time limit then.

    The limit cancels the task like `asyncio.timeout`, at a fifth of the cost.
    """

    __slots__ = (
        "_cancels_before",
        "_clock",
        "_is_late",
        "_permit",
        "_task",
        "_timeout_s",
        "_timer",
        "cookie",
        "headers",
        "sent_at",
    )

    def __init__(self, headers: PreparedHeaders, permit: Permit, timeout_s: float, clock: Clock) -> None:
        self.headers = headers
        self.cookie: bytes | None = None
        """The cookies of the session for this request."""
        self.sent_at = 0.0
        self._permit = permit
        self._timeout_s = timeout_s
        self._clock = clock
        self._is_late = False
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, connection: Connection) -> None:
        """Return when the bytes may be sent; raise `StaleConnection` if the connection closed meanwhile."""
        await self._permit.enter()
        protocol = connection.protocol
        if protocol is None or not protocol.is_connected():
            raise StaleConnection
        self._permit.sent()
        self.sent_at = self._clock.monotonic()
        self._task = asyncio.current_task()
        self._cancels_before = 0 if self._task is None else self._task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(self._timeout_s, self._expire)

    def end(self) -> None:
        """Stop the time limit."""
        if self._timer is not None:
            self._timer.cancel()

    def has_timed_out(self) -> bool:
        """Return whether a cancellation came from the time limit alone; if so, undo it."""
        if not self._is_late or self._task is None:
            return False
        return self._task.uncancel() <= self._cancels_before

    def _expire(self) -> None:
        self._is_late = True
        if self._task is not None:
            self._task.cancel()


_URL_BYTES = "".join(map(chr, range(0x21, 0x7F)))


async def read_body(answer: ClientResponse, max_bytes: int, progress: FetchProgress) -> bytes:
    """Return the whole body, decompressed; raise `TooLarge` as soon as it exceeds `max_bytes`.

    The limit applies to the bytes on the wire and to the decompressed bytes.
    """
    headers = answer.headers
    declared = headers.get("Content-Length")
    if declared is not None and declared.isdigit() and int(declared) > max_bytes and answer.method != "HEAD":
        raise TooLarge(f"the body has {declared} bytes, more than fetch.max_bytes allows ({max_bytes})")
    decompressor = _decompressor(answer, max_bytes)
    content = answer.content
    piece = await content.readany()
    if decompressor is None and content.at_eof() and len(piece) <= max_bytes:
        _raise_failure(content)
        return piece
    pieces = []
    received = 0
    while piece:
        received += len(piece)
        plain = piece if decompressor is None else decompressor.feed(piece)
        pieces.append(plain)
        progress.received += len(plain)
        if received > max_bytes or (decompressor is not None and decompressor.is_too_large):
            raise _too_large(max_bytes)
        piece = await content.readany()
    _raise_failure(content)
    if decompressor is not None:
        pieces.append(decompressor.finish())
        if decompressor.is_too_large:
            raise _too_large(max_bytes)
    return b"".join(pieces)


def _raise_failure(content: StreamReader) -> None:
    """Raise the error that ended a body."""
    failure = content.exception()
    if failure is not None:
        raise failure


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"the body has more bytes than fetch.max_bytes allows ({max_bytes})")


async def read_start(answer: ClientResponse, max_bytes: int, progress: FetchProgress) -> bytes:
    """Return the first `max_bytes` of the decompressed body; the rest is not read."""
    decompressor = _decompressor(answer, max_bytes)
    start = bytearray()
    received = 0
    while max(len(start), received) < max_bytes and (piece := await answer.content.readany()):
        received += len(piece)
        start += piece if decompressor is None else decompressor.feed(piece)
        progress.received = len(start)
    return bytes(start[:max_bytes])


def _decompressor(answer: ClientResponse, max_bytes: int) -> BodyDecompressor | None:
    if "Content-Encoding" not in answer.headers:
        return None
    return decompressor_for(",".join(answer.headers.getall("Content-Encoding")), max_bytes)


def page_headers(raw: Mapping[str, str]) -> dict[str, str]:
    """Return headers by lower-case name, all values valid text. Repeated ones are joined by a comma and a
    space; of several Locations the first counts, of several Content-Types the last, as in browsers.
    """
    headers: dict[str, str] = {}
    for name, value in raw.items():
        key = name.lower()
        text = value if value.isascii() else _repaired(key, value)
        if key not in headers or key == "content-type":
            headers[key] = text
        elif key != "location":
            headers[key] = f"{headers[key]}, {text}"
    return headers


def _repaired(key: str, value: str) -> str:
    """Decode a value with non-ASCII bytes: as UTF-8 if valid, else Latin-1; a Location is percent-encoded."""
    raw = value.encode("utf-8", "surrogateescape")
    if key == "location":
        return quote_from_bytes(raw, safe=_URL_BYTES + " ")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
