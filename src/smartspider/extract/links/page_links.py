"""Find the links of a page by its `follow` and `pagination` rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from smartspider.core.pages.extraction import LINKS_OVERFLOW, Item, Link
from smartspider.core.pages.rules import FollowRule, PagePlan
from smartspider.core.requests.query_encoding import encode_query
from smartspider.extract.fields.scopes import PAGE, PageScope, ScopeKind, SearchScope
from smartspider.extract.links.follows import ExtractedLinks, FoundLink, make_links
from smartspider.extract.links.link_limit import LINK_NOFOLLOW, PAGE_NOFOLLOW, within_limit
from smartspider.extract.links.pagination import has_more_pages, next_links
from smartspider.extract.parsing.decoding import clean
from smartspider.extract.parsing.link_markup import NofollowHref, directives_of


class LinkFinder(Protocol):
    """A rule that finds links."""

    def find(self, scope: Any) -> Sequence[Iterable[Any]]:
        """Return the matches per entry of a scope: hrefs, or values for a template."""

    def first(self, page: PageScope) -> str | None:
        """Return the href of the first match in the page."""


class FollowLinks:
    """The links of one follow rule. `finders` has one finder per kind of item if the rule searches items."""

    def __init__(
        self, follow: FollowRule, finders: Mapping[ScopeKind, LinkFinder], *, is_in_items: bool
    ) -> None:
        self.follow = follow
        self._finders = finders
        self.is_in_items = is_in_items
        self.is_plain = not is_in_items and not follow.carry and follow.request is None
        self.dedup_key = (follow.to, follow.max_depth, follow.allow, follow.deny)
        """Rules with the same key need only one link per URL."""

    def find_plain(self, page: PageScope, known: set[str], room: int) -> tuple[list[Link], int]:
        """Return links to unknown URLs, and the number that exceeded `room`."""
        rule = self.follow
        to, priority, max_depth, allow, deny = rule.to, rule.priority, rule.max_depth, rule.allow, rule.deny
        links: list[Link] = []
        nofollow: dict[str, Link] = {}
        dropped = 0
        for href in self._finders[PAGE].find(page)[0]:
            if href in known:
                continue
            if len(links) >= room:
                dropped += 1
                continue
            if type(href) is NofollowHref:
                rest = (to, priority, False, max_depth, allow, deny)
                nofollow[href] = Link(str(href), *rest, refusal=LINK_NOFOLLOW)
                continue
            known.add(href)
            links.append(Link(href, to, priority, False, max_depth, allow, deny))
        # A link that also stands on the page without nofollow is followed.
        refused = [link for href, link in nofollow.items() if href not in known]
        return links + refused, dropped

    def find(self, page: PageScope, items: PageItems) -> list[FoundLink]:
        """Return the matches with their items."""
        if not self.is_in_items:
            return [FoundLink(value) for value in self._finders[PAGE].find(page)[0]]
        if items.scope is None:
            return []
        matches = self._finders[items.kind].find(items.scope)
        return [FoundLink(value, number) for number, values in enumerate(matches) for value in values]


class PageItems(NamedTuple):
    """The items of a page: their scope and their fields."""

    kind: ScopeKind
    scope: SearchScope | None
    items: Sequence[Item]
    found: int
    """The number of items, including rejected ones."""
    has_fields: bool
    """If False, links count as items of the page."""


class PageLinks:
    """All link rules of a page type."""

    def __init__(
        self, plan: PagePlan, follows: tuple[FollowLinks, ...], next_link: LinkFinder | None, max_links: int
    ) -> None:
        self._plan = plan
        self._follows = follows
        self._next_link = next_link
        self._max_links = max_links
        self.searches_items = any(follow.is_in_items for follow in follows)

    def find(self, page: PageScope, items: PageItems) -> ExtractedLinks:
        """Return the links, pagination first; those beyond the limit are refused, and dropped beyond some
        more. Raise `NotReadable`.
        """
        plan, document = self._plan, page.document
        links, dropped, carries_dropped, _ = self._find_followed(page, items)
        if plan.pagination is not None:
            found = items.found if items.has_fields else _followed(links) + dropped
            links = self._find_pagination(page, found) + links
        if len(links) > self._max_links:
            dropped += len(links) - self._max_links
            links = within_limit(links, self._max_links)
        if document.has_invalid:
            links = [msgspec.structs.replace(link, href=clean(link.href)[0]) for link in links]
        if not document.page.charset.startswith("utf"):
            links = _in_charset(links, document.page.link_charset)
        is_nofollow = plan.obeys_nofollow and directives_of(document).is_nofollow
        return ExtractedLinks(links, dropped, carries_dropped, PAGE_NOFOLLOW if is_nofollow else None)

    def _find_followed(self, page: PageScope, items: PageItems) -> ExtractedLinks:
        links: list[Link] = []
        seen: dict[tuple[object, ...], set[str]] = {}
        dropped = carries_dropped = 0
        for follow in self._follows:
            room = self._max_links + LINKS_OVERFLOW - len(links)
            if follow.is_plain:
                more, lost = follow.find_plain(page, seen.setdefault(follow.dedup_key, set()), room)
            else:
                made = make_links(follow.follow, follow.find(page, items), items.items)
                more, lost = made.links[:room], max(len(made.links) - room, 0)
                carries_dropped += made.carries_dropped
            links += more
            dropped += lost
        return ExtractedLinks(links, dropped, carries_dropped)

    def _find_pagination(self, page: PageScope, found: int) -> list[Link]:
        plan, document = self._plan, page.document
        if self._next_link is None:
            return next_links(
                plan, document.page, document.request, document, found, max_links=self._max_links
            )
        if not has_more_pages(plan, found):
            return []
        href = self._next_link.first(page)
        return [] if href is None else [Link(href, plan.name, document.request.priority, is_pagination=True)]


def _in_charset(links: list[Link], charset: str) -> list[Link]:
    """Return the links of a page in a legacy charset, encoded as browsers do."""
    return [
        link if link.href.isascii() else msgspec.structs.replace(link, href=encode_query(link.href, charset))
        for link in links
    ]


def _followed(links: Sequence[Link]) -> int:
    return sum(link.refusal is None for link in links)
