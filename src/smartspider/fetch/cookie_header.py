"""Send the Cookie header: cookies of the session beside those of the request, and bytes as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aiohttp.connector import Connection
from aiohttp.hdrs import COOKIE
from multidict import CIMultiDict

_PLACE = "smartspider-cookie"


def merge_cookies(own: str | None, session: bytes) -> str:
    """Return the Cookie header of a request. A cookie of the session replaces one of the request's own header
    that has its name. Bytes that are not UTF-8 become surrogates.
    """
    stored = session.decode(errors="surrogateescape")
    if own is None:
        return stored
    names = {pair.partition("=")[0] for pair in stored.split("; ")}
    kept = [pair.strip() for pair in own.split(";") if pair.partition("=")[0].strip() not in names]
    return "; ".join([*filter(None, kept), stored])


def send_bytes(headers: CIMultiDict[str], connection: Connection) -> None:
    """Send a Cookie header with bytes that are not UTF-8 as it is; aiohttp would leave the bytes out."""
    cookie = headers.get(COOKIE, "")
    raw = cookie.encode(errors="surrogateescape")
    if cookie.isascii() or raw == cookie.encode(errors="ignore"):
        return
    headers[COOKIE] = _PLACE
    protocol: Any = connection.protocol
    protocol.transport = _CookieWriter(protocol, raw)


class _CookieWriter:
    """Stands before a transport until the headers are written, and puts the bytes in their place."""

    def __init__(self, protocol: Any, raw: bytes) -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        self._raw = raw

    def write(self, data: bytes) -> None:
        """Write the headers with the cookie."""
        self._protocol.transport = self._transport
        self._transport.write(bytes(data).replace(_PLACE.encode(), self._raw, 1))

    def writelines(self, chunks: Iterable[bytes]) -> None:
        """Write the headers with the cookie, and the start of the body."""
        self.write(b"".join(chunks))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
