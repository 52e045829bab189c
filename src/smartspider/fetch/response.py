"""From an aiohttp answer to the parts of a page."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote_from_bytes

from aiohttp import ClientResponse

from smartspider.core.errors import TooLarge
from smartspider.fetch.unpack import unpacking_for

_URL_BYTES = "".join(map(chr, range(0x21, 0x7F)))


async def read_body(answer: ClientResponse, max_bytes: int) -> bytes:
    """The whole body, unpacked. Raises `TooLarge` as soon as it is known to be more than `max_bytes`.

    The bytes on the wire and the unpacked bytes each have to stay within the limit.
    """
    headers = answer.headers
    declared = headers.get("Content-Length")
    if declared is not None and declared.isdigit() and int(declared) > max_bytes and answer.method != "HEAD":
        raise TooLarge(f"the body has {declared} bytes, {max_bytes} are allowed")
    encoding = headers.get("Content-Encoding")
    unpacking = None if encoding is None else unpacking_for(encoding, max_bytes)
    content = answer.content
    piece = await content.readany()
    if unpacking is None and content.at_eof() and len(piece) <= max_bytes:
        return piece
    pieces = []
    received = 0
    while piece:
        received += len(piece)
        pieces.append(piece if unpacking is None else unpacking.feed(piece))
        if received > max_bytes or (unpacking is not None and unpacking.is_over):
            raise TooLarge(f"the body is larger than the {max_bytes} bytes allowed")
        piece = await content.readany()
    if unpacking is not None:
        unpacking.finish()
    return b"".join(pieces)


async def read_start(answer: ClientResponse, max_bytes: int) -> bytes:
    """The first `max_bytes` of the unpacked body; what follows, also on the wire, is not read."""
    encoding = answer.headers.get("Content-Encoding")
    unpacking = None if encoding is None else unpacking_for(encoding, max_bytes)
    start = bytearray()
    received = 0
    while max(len(start), received) < max_bytes and (piece := await answer.content.readany()):
        received += len(piece)
        start += piece if unpacking is None else unpacking.feed(piece)
    return bytes(start[:max_bytes])


def page_headers(raw: Mapping[str, str]) -> dict[str, str]:
    """Headers by lower-case name, repeated ones joined by a comma and a space, every value valid text."""
    headers: dict[str, str] = {}
    for name, value in raw.items():
        key = name.lower()
        text = value if value.isascii() else _repaired(key, value)
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _repaired(key: str, value: str) -> str:
    """A value with bytes outside ASCII: UTF-8 if it is that, else Latin-1; as %XX in a Location."""
    raw = value.encode("utf-8", "surrogateescape")
    if key == "location":
        return quote_from_bytes(raw, safe=_URL_BYTES + " ")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
