"""Find `<meta charset>` where browsers look for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from smartspider.fetch.charset.labels import codec_for, codec_in

ALWAYS_SCANNED_BYTES = 1024
"""The start of a page that is searched whatever it contains; beyond it only the head of the page is."""
SCANNED_BYTES = 1 << 19

_ATTRIBUTES = rb"""((?:=[\t\n\f\r ]*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))|[^>])*+)"""
_MARKUP = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))"
    rb"|<(?:(/?)([a-z][^\t\n\f\r />]*+)" + _ATTRIBUTES + rb"|[!/?][^>]*+)(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""Markup that is not closed extends to the end, so that nothing is scanned twice."""
_ATTRIBUTE = re.compile(rb"""([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_RAW_TEXT = frozenset(
    {b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes"}
)
"""Elements in which tags are text."""
_OF_HEAD = frozenset(b"script noscript style link meta object title base".split())
_AROUND_HEAD = frozenset(b"html head".split())


class _Tag(NamedTuple):
    name: bytes
    is_end: bool
    attributes: bytes
    start: int
    end: int


def find_meta_charset(body: bytes) -> str | None:
    """Return the codec of the first `<meta>` that names a known charset, in the first 1,024 bytes or in the
    head of the page; None if there is none.
    """
    if b"charset" not in body[:SCANNED_BYTES].lower():
        return None
    is_in_head = True
    for tag in _tags(body):
        if not is_in_head and tag.start >= ALWAYS_SCANNED_BYTES:
            return None
        if tag.name == b"meta" and not tag.is_end:
            codec = _codec_of(tag.attributes)
            if codec is not None:
                return codec
        elif tag.name not in _OF_HEAD and (tag.is_end or tag.name not in _AROUND_HEAD):
            is_in_head = False
        if not is_in_head and tag.end >= ALWAYS_SCANNED_BYTES:
            return None
    return None


def _tags(body: bytes) -> Iterator[_Tag]:
    """Yield the tags, without those in comments and in raw text."""
    at, end = 0, min(len(body), SCANNED_BYTES)
    while (found := _MARKUP.search(body, at, end)) is not None:
        at = found.end()
        if found[2] is None:
            continue
        name = found[2].lower()
        yield _Tag(name, found[1] == b"/", found[3], found.start(), at)
        if name in _RAW_TEXT and not found[1]:
            close = re.compile(rb"</" + name + rb"(?=[\t\n\f\r />])", re.IGNORECASE).search(body, at, end)
            if close is None:
                return
            at = close.start()


def _codec_of(attributes: bytes) -> str | None:
    named: dict[bytes, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(attributes):
        value = (double or single or bare).decode("latin-1")
        named.setdefault(name.lower(), unescape(value) if "&" in value else value)
    codec = codec_for(named.get(b"charset", ""))
    if codec is None and named.get(b"http-equiv", "").strip().lower() == "content-type":
        codec = codec_in(named.get(b"content", ""))
    return codec
