"""Keys of links: the same key means the same request, so that a known link need not be parsed again."""

from __future__ import annotations

from smartspider.core.pages.extraction import Link
from smartspider.core.requests.request import NO_EXTRAS, Extras
from smartspider.core.requests.urls import origin_of

LinkKey = tuple[str, str, str]
"""The base of the href, the href without its fragment, and the page type."""

UNKEYED: LinkKey = ("", "", "")
"""The key of requests that are known by their fingerprint only."""


def link_bytes(key: LinkKey) -> int:
    """Return the memory of a key; all but its href is shared between keys of a page."""
    return 200 + len(key[1])


class LinkBase:
    """The base that links of a page are relative to: the same href from the same base means the same URL."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._origin = origin_of(base)
        self._folder = base.rpartition("/")[0]

    def key_of(self, link: Link, extras: Extras) -> LinkKey:
        """Return the key of a plain link; other requests are known by their fingerprint only."""
        if extras is not NO_EXTRAS and (extras.method != "GET" or extras.body or extras.variant):
            return UNKEYED
        href = link.href if "#" not in link.href else link.href.partition("#")[0]
        return self._anchor(href), href, link.page

    def _anchor(self, href: str) -> str:
        first = href[:1]
        if first == "/":
            return self._origin
        if first in "?#" or first <= " " or (":" in href and "://" not in href[:8]):
            return self._base  # relative to the page, not to its folder (also `http:?page=2`)
        return self._folder
