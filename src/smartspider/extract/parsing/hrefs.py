"""Interpret link attributes as browsers do."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
