"""Decode page bodies, and remove characters that no store accepts: NUL and lone surrogates."""

from __future__ import annotations

import codecs
import re
from typing import Any

from smartspider.core.errors import NotReadable
from smartspider.core.pages.markup_limits import markup_problem
from smartspider.core.pages.page import Page

INVALID_MARK = "\ufdd0"
"""Replaces an invalid character in a page. Lexbor would drop a NUL in text and change it in an attribute; it
keeps a noncharacter in both, so values can be cleaned and counted.
"""

_INVALID = re.compile(f"[\x00\ud800-\udfff{INVALID_MARK}]")


def clean(value: Any) -> tuple[Any, int]:
    """Return the value without invalid characters, and the number of strings that had some."""
    if isinstance(value, str):
        if value.isascii() and "\x00" not in value:
            return value, 0
        cleaned, taken = _INVALID.subn("", value)
        return cleaned, min(taken, 1)
    if isinstance(value, list | tuple):
        pairs = [clean(inner) for inner in value]
        return [inner for inner, _ in pairs], sum(count for _, count in pairs)
    if isinstance(value, dict):
        total = 0
        whole = {}
        for key, inner in value.items():
            whole[clean(key)[0]], count = clean(inner)
            total += count
        return whole, total
    return value, 0


_MAGIC = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF-", b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf",
    b"Rar!", b"\x7fELF", b"OggS", b"ID3", b"fLaC", b"wOFF", b"wOF2", b"\x00\x00\x01\x00", b"\x28\xb5\x2f\xfd",
    b"SQLite format 3",
)  # fmt: skip
_CONTROLS = bytes(code for code in range(0x20) if code not in b"\t\n\x0b\x0c\r\x1b") + b"\x7f"
_SAMPLE = 1024
_NOT_MARKUP = frozenset({"text/css", "text/csv", "text/javascript", "text/calendar", "text/vcard"})
_MARK_UTF8 = INVALID_MARK.encode()
_FOREIGN_UTF8 = re.compile(rb"\x00|\xed[\xa0-\xbf][\x80-\xbf]")
_BOM = "\ufeff"
_XML_BEGIN = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:(<\?xml\b)|(?:<!--.*?-->\s*)*"
    rb"<(?:rss|feed|urlset|sitemapindex|rdf:RDF|opml)[\s>])",
    re.DOTALL,
)
_HTML_BEGIN = (b"<!DOCTYPE html>", b"<!doctype html>", b"<html>", b"<html ")
_HTML_TAG = re.compile(rb"<(?:!doctype\s+)?html\b", re.IGNORECASE)
_ESCAPED_FOREIGN = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_FOREIGN = re.compile("[\x00\ud800-\udfff]")


def is_xml_page(page: Page) -> bool:
    """Return True for XML other than XHTML, by media type or first tag."""
    if page.body.startswith(_HTML_BEGIN):
        return False
    media_type, head = page.media_type, page.body[:_SAMPLE]
    if media_type.endswith(("/xml", "+xml")) and media_type != "application/xhtml+xml":
        return _HTML_TAG.search(head) is None
    begin = _XML_BEGIN.match(head)
    return begin is not None and (begin[1] is None or _HTML_TAG.search(head) is None)


def decode_json(page: Page) -> tuple[bytes, bool]:
    """Return the body as UTF-8, and whether its texts may have invalid characters."""
    body = page.body
    charset = _codec_name(page.charset)
    if charset == "utf-8" or body[:1] in b"{[":
        # JSON is UTF-8, whatever the server says, as long as it decodes.
        body = body.removeprefix(codecs.BOM_UTF8)
    if charset != "utf-8" and not _is_utf8(body):
        body = _decoded(body, charset)
    return body, b"\\u" in body and _ESCAPED_FOREIGN.search(body) is not None


def decode_text(page: Page) -> tuple[str, bool]:
    """Return the source of the page, and whether it has invalid characters; raise `NotReadable`."""
    if page.body.startswith(_MAGIC):
        raise NotReadable("the page looks like binary data, not text")
    html = page.body if (charset := _codec_name(page.charset)) == "utf-8" else _decoded(page.body, charset)
    if _looks_binary(html):
        raise NotReadable("the page looks like binary data, not text")
    text = html.decode(errors="replace").removeprefix(_BOM)
    return text, _FOREIGN.search(text) is not None


def decode_html(page: Page) -> tuple[bytes, bool]:
    """Return the page as UTF-8 HTML, and whether invalid characters were marked; raise `NotReadable`."""
    _check_media_type(page.media_type)
    body = page.body
    if body.startswith(_MAGIC):
        raise NotReadable("the page looks like binary data, not HTML")
    charset = _codec_name(page.charset)
    # Lexbor keeps bytes that are not UTF-8; they become U+FFFD when a value is read.
    html = body.removeprefix(codecs.BOM_UTF8) if charset == "utf-8" else _decoded(body, charset)
    if _looks_binary(html):
        raise NotReadable("the page looks like binary data, not HTML")
    if (problem := markup_problem(html)) is not None:
        raise NotReadable(f"the page {problem}")
    if b"\x00" in html or (b"\xed" in html and not _is_utf8(html)):
        html, count = _FOREIGN_UTF8.subn(_MARK_UTF8, html)
        return html, count > 0
    return html, False


def has_undecodable(page: Page) -> bool:
    """Return whether the body has bytes that are no characters of its charset; they become U+FFFD."""
    if page.body.isascii():
        return False
    try:
        page.body.decode(_codec_name(page.charset))
    except UnicodeDecodeError:
        return not (page.media_type.endswith("json") and _is_utf8(page.body))
    except (LookupError, ValueError):
        return False
    return False


def _check_media_type(media_type: str) -> None:
    if not media_type or media_type == "text/html" or "/" not in media_type:
        return
    is_text = media_type.startswith("text/") and media_type not in _NOT_MARKUP
    if not is_text and not media_type.endswith(("/xml", "+xml")):
        raise NotReadable(
            f"the page is {media_type}, not HTML, so CSS and XPath rules cannot read it",
            hint="exclude such links with `deny`, or use a page type with other rules for them",
        )


def _codec_name(charset: str) -> str:
    try:
        return codecs.lookup(charset).name
    except (LookupError, ValueError):
        return "utf-8"


def _decoded(body: bytes, charset: str) -> bytes:
    try:
        text = body.decode(charset, errors="replace")
    except (LookupError, ValueError):
        # A codec that is not a charset, such as base64.
        return body
    return text.removeprefix(_BOM).encode(errors="surrogatepass")


def _is_utf8(html: bytes) -> bool:
    try:
        html.decode()
    except UnicodeDecodeError:
        return False
    return True


def _looks_binary(html: bytes) -> bool:
    sample = html[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > 0 and (
        controls > len(sample) * 0.3 or (controls >= 8 and controls > len(sample) * 0.05)
    )
