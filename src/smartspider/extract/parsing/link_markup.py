"""Read the markup of links: `<base>`, robots directives, and link attributes as browsers read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from smartspider.core.errors import NotReadable
from smartspider.core.requests.urls import normal_url
from smartspider.extract.parsing.document import Document

MAX_BASE = 2048
"""Characters of a base. Every link of the page repeats it, so a longer one is ignored."""
_ROBOTS_NAMES = frozenset({"robots", "smartspider"})
_WORDS = re.compile(r"[\s,]+")


class Directives(NamedTuple):
    """The base of relative links, and whether the page asks not to follow links."""

    base: str
    is_nofollow: bool


def base_of(document: Document) -> str:
    """Return the base of relative links of the page."""
    return directives_of(document).base


def directives_of(document: Document) -> Directives:
    """Return the directives, read once per page. Only HTML has them; the base of other pages is their URL."""
    known: Directives | None = document.directives
    if known is None:
        known = document.directives = _read(document)
    return known


def _read(document: Document) -> Directives:
    base: str | None = None
    url = document.page.url
    try:
        for tag, attributes in _tags(document):
            if tag == "base":
                href = attributes.get("href")
                if base is None and href is not None and len(href) <= MAX_BASE:
                    base = normal_url(href, url)
            elif (attributes.get("name") or "").strip().lower() in _ROBOTS_NAMES:
                words = _WORDS.split((attributes.get("content") or "").lower())
                if "nofollow" in words or "none" in words:
                    return Directives(base or url, is_nofollow=True)
    except NotReadable:
        pass
    return Directives(base or url, is_nofollow=False)


def _tags(document: Document) -> list[tuple[Any, Any]]:
    if document.is_xml or document.is_json:
        return []
    if document.is_on_lxml:
        return [(element.tag, element) for element in document.tree.iter("base", "meta")]
    return [(node.tag, node.attributes) for node in document.root.css("base, meta[name]")]


_TO_SRC = frozenset(
    {"img", "script", "iframe", "frame", "source", "embed", "video", "audio", "track", "input"}
)
_ONLY_HREF = frozenset({"a", "area", "link"})
_SPACE = "".join(map(chr, range(0x21)))
_LINE_BREAKS = re.compile(r"[\t\n\r]+")
_NO_PAGE = ("javascript:", "mailto:", "tel:", "data:")
_LONGEST_SCHEME = max(map(len, _NO_PAGE))


def implied_href(tag: str | None, attributes: Mapping[str, str | None]) -> str | None:
    """Return `href` or `src`, whichever the element links by."""
    if "src" not in attributes:
        return attributes.get("href")
    href, src = attributes.get("href"), attributes["src"]
    if tag in _TO_SRC:
        return src
    return href if tag in _ONLY_HREF else href or src


class NofollowHref(str):
    """An href whose element says `rel=nofollow`. It equals its text."""

    __slots__ = ()


def is_nofollow(rel: str | None) -> bool:
    """Return True if `rel` contains nofollow."""
    return rel is not None and "nofollow" in rel.lower().split()


def normalize_href(href: str) -> str | None:
    """Normalize an href as browsers do; None if it cannot lead to a page."""
    href = href.strip(_SPACE)
    if not href.isprintable():
        href = _LINE_BREAKS.sub("", href)
    if not href or href[0] == "#":
        return None
    if ":" in href[:_LONGEST_SCHEME] and href[:_LONGEST_SCHEME].lower().startswith(_NO_PAGE):
        return None
    return href
