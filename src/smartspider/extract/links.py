"""Links of a page: what `follow` and `pagination` find, as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from selectolax.lexbor import LexborNode

from smartspider.core.extraction import Link
from smartspider.core.rules import Follow
from smartspider.core.urls import normal_url
from smartspider.extract.cleaning import clean
from smartspider.extract.document import Document
from smartspider.extract.query import Query

_TO_SRC = frozenset(
    {"img", "script", "iframe", "frame", "source", "embed", "video", "audio", "track", "input"}
)
_ONLY_HREF = frozenset({"a", "area", "link"})
_ROBOTS_NAMES = frozenset({"robots", "smartspider"})
_SPACE = "".join(map(chr, range(0x21)))
_LINE_BREAKS = re.compile(r"[\t\n\r]+")
_NO_PAGE = ("javascript:", "mailto:", "tel:", "data:")
_LONGEST_SCHEME = max(map(len, _NO_PAGE))


class FollowLinks:
    """The links of one follow rule."""

    def __init__(self, follow: Follow, queries: tuple[Query, ...]) -> None:
        self._queries = queries
        self.rest = (follow.to, follow.priority, False, follow.max_depth, follow.allow, follow.deny)
        """What a `Link` of this rule says after its href."""
        self.likeness = (follow.to, follow.max_depth, follow.allow, follow.deny)
        """Of rules with the same likeness, one link to a URL is as good as another."""

    def hrefs(self, document: Document) -> Iterator[str]:
        """The hrefs found, cleaned of what browsers ignore, without those that name no page."""
        for query in self._queries:
            for node in query.find_in_page(document.root):
                href = href_of(node, query)
                if href is not None:
                    yield href


class PageLinks:
    """All link rules of a page type."""

    def __init__(
        self, page: str, follows: tuple[FollowLinks, ...], next_link: tuple[Query, ...], max_links: int
    ) -> None:
        self._page = page
        self._follows = follows
        self._next_link = next_link
        self._max_links = max_links

    def find(self, document: Document) -> tuple[list[Link], str, int]:
        """The links (pagination first), the base they are joined to, and how many were too many."""
        base, is_nofollow = _directives(document)
        if is_nofollow:
            return [], base, 0
        links = self._pagination(document)
        seen: dict[tuple[object, ...], set[str]] = {}
        dropped = 0
        for follow in self._follows:
            known = seen.setdefault(follow.likeness, set())
            rest = follow.rest
            for href in follow.hrefs(document):
                if href in known:
                    continue
                if len(links) >= self._max_links:
                    dropped += 1
                    continue
                known.add(href)
                links.append(Link(href, *rest))
        if document.is_stained:
            links = [msgspec.structs.replace(link, href=clean(link.href)[0]) for link in links]
        return links, base, dropped

    def _pagination(self, document: Document) -> list[Link]:
        for query in self._next_link:
            node = _first_node(query, document.root)
            if node is not None:
                href = href_of(node, query)
                return [] if href is None else [Link(href, self._page, is_pagination=True)]
        return []


def _first_node(query: Query, root: LexborNode) -> LexborNode | None:
    if query.take == "element":
        return query.first_in_page(root)
    return next((node for node in query.find_in_page(root) if query.attr in node.attrs), None)


def href_of(node: LexborNode, query: Query) -> str | None:
    """Where an element leads, or None if nowhere a page could be or the link says nofollow."""
    attributes = node.attributes
    if query.take == "attr":
        href = node.attrs.sget(query.attr, None)
    elif "src" not in attributes:
        href = attributes.get("href")
    else:
        href = _href_or_src(node, attributes)
    if not href:
        return None
    rel = attributes.get("rel")
    if rel and "nofollow" in rel.lower().split():
        return None
    return page_href(href)


def _href_or_src(node: LexborNode, attributes: dict[str, str | None]) -> str | None:
    href, src = attributes.get("href"), attributes["src"]
    if node.tag in _TO_SRC:
        return src
    return href if node.tag in _ONLY_HREF else href or src


def page_href(href: str) -> str | None:
    """The href as a browser would read it, or None if it cannot lead to a page."""
    href = href.strip(_SPACE)
    if not href.isprintable():
        href = _LINE_BREAKS.sub("", href)
    if not href or href[0] == "#":
        return None
    if ":" in href[:_LONGEST_SCHEME] and href[:_LONGEST_SCHEME].lower().startswith(_NO_PAGE):
        return None
    return href


def _directives(document: Document) -> tuple[str, bool]:
    """What `<base href>` and `<meta name=robots>` say about the links of the page."""
    base: str | None = None
    url = document.page.url
    for node in document.root.css("base, meta[name]"):
        attributes = node.attributes
        if node.tag == "base":
            href = attributes.get("href")
            if base is None and href is not None:
                base = normal_url(href, url)
        elif (attributes["name"] or "").strip().lower() in _ROBOTS_NAMES:
            words = re.split(r"[\s,]+", (attributes.get("content") or "").lower())
            if "nofollow" in words or "none" in words:
                return base or url, True
    return base or url, False
