"""Read the body and headers of an aiohttp response."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote_from_bytes

from aiohttp import ClientResponse

from smartspider.core.errors import TooLarge
from smartspider.fetch.decompression import decompressor_for

_URL_BYTES = "".join(map(chr, range(0x21, 0x7F)))


async def read_body(answer: ClientResponse, max_bytes: int) -> bytes:
    """Return the whole body, decompressed; raise `TooLarge` as soon as it exceeds `max_bytes`.

    The limit applies to the bytes on the wire and to the decompressed bytes.
    """
    headers = answer.headers
    declared = headers.get("Content-Length")
    if declared is not None and declared.isdigit() and int(declared) > max_bytes and answer.method != "HEAD":
        raise TooLarge(f"the body has {declared} bytes; the limit is {max_bytes}")
    encoding = headers.get("Content-Encoding")
    decompressor = None if encoding is None else decompressor_for(encoding, max_bytes)
    content = answer.content
    piece = await content.readany()
    if decompressor is None and content.at_eof() and len(piece) <= max_bytes:
        return piece
    pieces = []
    received = 0
    while piece:
        received += len(piece)
        pieces.append(piece if decompressor is None else decompressor.feed(piece))
        if received > max_bytes or (decompressor is not None and decompressor.is_too_large):
            raise TooLarge(f"the body exceeds the limit of {max_bytes} bytes")
        piece = await content.readany()
    if decompressor is not None:
        decompressor.finish()
    return b"".join(pieces)


async def read_start(answer: ClientResponse, max_bytes: int) -> bytes:
    """Return the first `max_bytes` of the decompressed body; the rest is not read."""
    encoding = answer.headers.get("Content-Encoding")
    decompressor = None if encoding is None else decompressor_for(encoding, max_bytes)
    start = bytearray()
    received = 0
    while max(len(start), received) < max_bytes and (piece := await answer.content.readany()):
        received += len(piece)
        start += piece if decompressor is None else decompressor.feed(piece)
    return bytes(start[:max_bytes])


def page_headers(raw: Mapping[str, str]) -> dict[str, str]:
    """Return headers by lower-case name; repeated ones are joined by a comma and a space, and all values are
    valid text.
    """
    headers: dict[str, str] = {}
    for name, value in raw.items():
        key = name.lower()
        text = value if value.isascii() else _repaired(key, value)
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
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
