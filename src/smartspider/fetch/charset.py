"""Finding out how a body is to be read as text, in the order browsers do."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

from smartspider.fetch.encoding_labels import codec_for

PRESCAN_BYTES = 1024
UTF8_CHECK_BYTES = 1 << 20
GUESS_BYTES = 64 * 1024
FALLBACK = "windows-1252"
_LATIN = frozenset({"cp1252", "latin_1"})

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_UTF16_XML = ((b"<\0?\0x\0", "utf-16-le"), (b"\0<\0?\0x", "utf-16-be"))

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"']+))""", re.IGNORECASE)
_IN_TAG = rb"""(?:[^>"']|"[^"]*"|'[^']*')*"""
_MARKUP = re.compile(
    rb"<!--(?:-?>|.*?(?:-->|\Z))"
    rb"|<meta(?=[\s/])(?P<meta>" + _IN_TAG + rb")>"
    rb"|</?[a-z]" + _IN_TAG + rb">"
    rb"|<[!/?][^>]*>",
    re.IGNORECASE | re.DOTALL,
)
"""Comments and other tags are matched so that a <meta> inside them is passed over."""
_ATTRIBUTE = re.compile(rb"""([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_XML_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"'>]+)["']""")


class _MediaType:
    """What a Content-Type says: the codec it names, and whether the body can name one itself."""

    __slots__ = ("codec", "is_binary", "is_markup")

    def __init__(self, content_type: str) -> None:
        found = _HEADER_CHARSET.search(content_type)
        self.codec = codec_for(found[1] or found[2] or found[3] or "") if found else None
        media = content_type.partition(";")[0].strip().lower()
        self.is_markup = not media or "html" in media or "xml" in media
        self.is_binary = not self.is_markup and (
            media.startswith(("image/", "audio/", "video/", "font/"))
            or media in {"application/pdf", "application/zip", "application/gzip", "application/octet-stream"}
        )


_media_type = lru_cache(maxsize=512)(_MediaType)


_STRAY_SHARE = 10
"""Good characters beyond ASCII for each broken one that make a text UTF-8 after all."""
_ENOUGH_BYTES = 12
_FOREIGN_SHARE = 0.25
_HIGH_BYTES = [bytes([number]) for number in range(0x80, 0x100)]
_ASCII_LETTERS = [bytes([number]) for number in (*range(0x41, 0x5B), *range(0x61, 0x7B))]


def detect_charset(body: bytes, content_type: str) -> str:
    """The Python codec for a body: byte order mark, header, <meta>, XML declaration, then its bytes."""
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
    head = body[:PRESCAN_BYTES]
    for start, codec in _UTF16_XML:
        if head.startswith(start):
            return codec
    label = _meta_label(head)
    if label is None:
        found = _XML_ENCODING.match(head)
        label = codec_for(found[1].decode("latin-1")) if found else None
    # The declaration was read as ASCII, so it cannot be UTF-16.
    return "utf-8" if label in {"utf-16-le", "utf-16-be"} else label


def _meta_label(head: bytes) -> str | None:
    for tag in _MARKUP.finditer(head):
        attributes = tag["meta"]
        if attributes is None:
            continue
        named: dict[bytes, bytes] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(attributes):
            named.setdefault(name.lower(), double or single or bare)
        codec = codec_for(named.get(b"charset", b"").decode("latin-1"))
        if codec is None and named.get(b"http-equiv", b"").strip().lower() == b"content-type":
            found = _HEADER_CHARSET.search(named.get(b"content", b"").decode("latin-1"))
            codec = codec_for(found[1] or found[2] or found[3] or "") if found else None
        if codec is not None:
            return codec
    return None


def _is_utf8(body: bytes) -> bool:
    sample = body[:UTF8_CHECK_BYTES]
    try:
        codecs.utf_8_decode(sample, "strict", len(sample) == len(body))
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_utf8(body: bytes) -> bool:
    """Whether the text is UTF-8 but for a few stray bytes, as when something was cut or pasted in."""
    text = body[:GUESS_BYTES].decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    return sum(not character.isascii() for character in text) - broken > _STRAY_SHARE * broken


def _guessed(body: bytes) -> str:
    """A guess by content, where there is enough of it: Western text has few letters beyond ASCII."""
    sample = body[:GUESS_BYTES]
    high = sum(sample.count(byte) for byte in _HIGH_BYTES)
    letters = high + sum(sample.count(byte) for byte in _ASCII_LETTERS)
    if high < _ENOUGH_BYTES or high < _FOREIGN_SHARE * letters:
        return FALLBACK
    # Imported late: most crawls never need it.
    import charset_normalizer

    best = charset_normalizer.from_bytes(sample).best()
    if best is None or not _LATIN.isdisjoint(best.could_be_from_charset):
        return FALLBACK
    return codec_for(best.encoding.replace("_", "-")) or best.encoding
