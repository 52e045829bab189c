"""Detect the charset of a body, in the order browsers do."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

from smartspider.fetch.charset.labels import codec_for, codec_in
from smartspider.fetch.charset.meta import find_meta_charset

XML_DECLARATION_BYTES = 1024
UTF8_CHECK_BYTES = 1 << 20
GUESS_BYTES = 64 * 1024
FALLBACK = "windows-1252"
_LATIN = frozenset({"cp1252", "latin_1"})

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_UTF16_XML = ((b"<\0?\0x\0", "utf-16-le"), (b"\0<\0?\0x", "utf-16-be"))

_XML_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"'>]+)["']""")


class _MediaType:
    """A parsed Content-Type: the codec it names, and whether the body may declare one."""

    __slots__ = ("codec", "is_binary", "is_markup")

    def __init__(self, content_type: str) -> None:
        self.codec = codec_in(content_type)
        media = content_type.partition(";")[0].strip().lower()
        self.is_markup = not media or "html" in media or "xml" in media
        self.is_binary = not self.is_markup and (
            media.startswith(("image/", "audio/", "video/", "font/"))
            or media in {"application/pdf", "application/zip", "application/gzip", "application/octet-stream"}
        )


_media_type = lru_cache(maxsize=512)(_MediaType)


_STRAY_SHARE = 10
"""Valid non-ASCII characters per invalid one that make a text UTF-8 nevertheless."""
_ENOUGH_BYTES = 12
_FOREIGN_SHARE = 0.25
_HIGH_BYTES = [bytes([number]) for number in range(0x80, 0x100)]
_ASCII_LETTERS = [bytes([number]) for number in (*range(0x41, 0x5B), *range(0x61, 0x7B))]


def detect_charset(body: bytes, content_type: str) -> str:
    """Return the Python codec of a body: byte order mark, header, <meta>, XML declaration, then its bytes."""
    first = body[:1]
    if first in b"\xef\xff\xfe":
        for mark, codec in _BOMS:
            if body.startswith(mark):
                return codec
    media = _media_type(content_type)
    if media.codec is not None:
        return media.codec
    if media.is_markup:
        declared = _declared(body)
        if declared is not None:
            return declared
    if media.is_binary or _is_utf8(body) or _is_mostly_utf8(body):
        return "utf-8"
    return _guessed(body)


def _declared(body: bytes) -> str | None:
    for start, codec in _UTF16_XML:
        if body.startswith(start):
            return codec
    named = find_meta_charset(body)
    if named is None:
        found = _XML_ENCODING.match(body, 0, XML_DECLARATION_BYTES)
        named = codec_for(found[1].decode("latin-1")) if found else None
    # The declaration was read as ASCII, so it cannot be UTF-16.
    return "utf-8" if named in {"utf-16-le", "utf-16-be"} else named


def _is_utf8(body: bytes) -> bool:
    sample = body[:UTF8_CHECK_BYTES]
    try:
        codecs.utf_8_decode(sample, "strict", len(sample) == len(body))
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_utf8(body: bytes) -> bool:
    """Return whether the text is UTF-8 except for a few stray bytes, as after truncation or concatenation."""
    text = body[:GUESS_BYTES].decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    return sum(not character.isascii() for character in text) - broken > _STRAY_SHARE * broken


def _guessed(body: bytes) -> str:
    """Guess by content if there is enough of it: Western text has few non-ASCII letters."""
    sample = body[:GUESS_BYTES]
    high = sum(sample.count(byte) for byte in _HIGH_BYTES)
    letters = high + sum(sample.count(byte) for byte in _ASCII_LETTERS)
    if high < _ENOUGH_BYTES or high < _FOREIGN_SHARE * letters:
        return FALLBACK
    # Imported late: most crawls do not need it.
    import charset_normalizer

    best = charset_normalizer.from_bytes(sample).best()
    if best is None or not _LATIN.isdisjoint(best.could_be_from_charset):
        return FALLBACK
    return codec_for(best.encoding.replace("_", "-")) or best.encoding
