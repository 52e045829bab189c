"""Bytes as text and back: hexadecimal digits and Base64, and gzip within a limit."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Literal

from smartspider.core.errors import BadEncoding
from smartspider.fetch.decompression import decompressor_for
from smartspider.interfaces.layer import LayerRefused

TextEncoding = Literal["hex", "HEX", "base64", "base64url"]
"""Bytes as text; `HEX` has upper-case digits."""
Encoding = Literal["hex", "HEX", "base64", "base64url", "raw"]
"""`raw`: the bytes themselves."""

_ENCODE: dict[str, Callable[[bytes], bytes]] = {
    "hex": binascii.hexlify,
    "HEX": lambda data: binascii.hexlify(data).upper(),
    "base64": base64.b64encode,
    "base64url": lambda data: base64.urlsafe_b64encode(data).rstrip(b"="),
    "raw": bytes,
}
_TO_BASE64 = bytes.maketrans(b"-_", b"+/")


def encode(data: bytes, encoding: str) -> bytes:
    """Return bytes in an encoding."""
    return _ENCODE[encoding](data)


def decode(text: bytes, encoding: str) -> bytes:
    """Return the bytes of a text; raise `ValueError`. Base64 may have line breaks, the letters of `base64url`
    and no padding.
    """
    if encoding == "raw":
        return text
    text = b"".join(text.split())
    if encoding in ("hex", "HEX"):
        return binascii.unhexlify(text)
    text = text.translate(_TO_BASE64).rstrip(b"=")
    return base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)


def gunzip(data: bytes, max_bytes: int) -> bytes:
    """Return decompressed bytes, `max_bytes` at most; raise `LayerRefused`."""
    stream = decompressor_for("gzip", max_bytes)
    assert stream is not None  # noqa: S101 - gzip is known
    try:
        plain = stream.feed(data) + stream.finish()
    except BadEncoding as wrong:
        raise LayerRefused("what was decrypted is not gzip") from wrong
    if stream.is_too_large:
        raise LayerRefused(f"it has more bytes than max_bytes allows ({max_bytes}) when decompressed")
    return plain
