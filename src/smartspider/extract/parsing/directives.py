"""Read `<base href>` and `<meta name=robots>`."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from smartspider.core.errors import NotReadable
from smartspider.core.requests.urls import normal_url
from smartspider.extract.parsing.document import Document

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
                if base is None and href is not None:
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
