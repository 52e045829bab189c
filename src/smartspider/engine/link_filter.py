"""From the links of a page to the requests that are worth making."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from smartspider.core.pages.extraction import Extraction, Link
from smartspider.core.pages.rules import OWN_PAGE, ROBOTS_PAGE
from smartspider.core.requests.fingerprint import fingerprint
from smartspider.core.requests.request import DEFAULT_PAGE, NO_EXTRAS, Extras, Request
from smartspider.core.requests.scope import pattern_refusal, url_refusal
from smartspider.core.requests.urls import canonical_url, host_of, normal_url, origin_of
from smartspider.core.runs.plan import Plan
from smartspider.dedup.memory import RecentSet

LinkKey = tuple[str, str, str]
_UNKEYED: LinkKey = ("", "", "")
LINKS_BYTES = 32_000_000
"""What links take that need no second look, for each reason."""
RobotsCheck = Callable[[str], bool | None]
"""Whether robots.txt allows a URL; None when its host's robots.txt is not known yet."""


class ChildRequests(msgspec.Struct):
    """The children of a page, and the links they came from."""

    children: list[Request]
    keys: list[LinkKey]
    duplicates: int = 0
    links: list[Request] = []
    """Known children too, where later runs ask whether the page changed."""
    next_pages: list[Request] = []
    """Further pages that are only wanted when an item of this one is new; not among the children."""

    def add(self, child: Request, key: LinkKey) -> None:
        """Another child, and the link it came from."""
        self.children.append(child)
        if key is not _UNKEYED:
            self.keys.append(key)


class _Place(NamedTuple):
    """Where a link leads."""

    url: str
    canonical: str
    depth: int


class _Refused(NamedTuple):
    """Why a link is not followed. `is_lasting`: the same link is refused on every page."""

    reason: str
    is_lasting: bool = False


class LinkFilter:
    """Decides which links of a run's pages become requests. Remembers what needs no second look."""

    def __init__(self, plan: Plan, robots: RobotsCheck, known: RecentSet[bytes] | None = None) -> None:
        self._plan = plan
        self._robots = robots
        self._scope = plan.scope
        self._needs_history = plan.recrawl.needs_history
        self._keeps_all = plan.recrawl.conditional
        self._ends_when_seen = frozenset(name for name, page in plan.pages.items() if page.stop_when.seen)
        self._stored: RecentSet[LinkKey] = RecentSet(LINKS_BYTES // 2, _link_bytes)
        self._refused: RecentSet[LinkKey] = RecentSet(LINKS_BYTES // 2, _link_bytes)
        self._known: RecentSet[bytes] = RecentSet() if known is None else known
        self._hits = self._misses = 0

    def admit(self, host: str, page: str = DEFAULT_PAGE) -> None:
        """A host whose page was handed out belongs to the run, whatever led to it; where only a sitemap lies
        does not.
        """
        if not self._scope.domains and host not in self._scope.hosts and not page.startswith(OWN_PAGE):
            self._scope = self._scope.with_hosts([host])
            self._refused.clear()

    def remember(self, found: ChildRequests) -> None:
        """These children are committed: from now on they are known."""
        self._stored.update(found.keys)
        self._known.update([child.fingerprint for child in found.children])

    def forget(self) -> None:
        """Rows that were committed may be gone: nothing is known any more."""
        self._stored.clear()
        self._known.clear()

    def take_counts(self) -> tuple[int, int]:
        """Links that were known here and those that were not, since this was last asked."""
        counts = self._hits, self._misses
        self._hits = self._misses = 0
        return counts

    def children(self, extraction: Extraction, request: Request) -> ChildRequests:
        """Requests for the links of a page that are in scope and not known."""
        found = ChildRequests([], [])
        base = extraction.base
        places = _Places(base)
        fresh: set[bytes] = set()
        further: set[bytes] = set()
        for link in extraction.links:
            extras = _kept(link, request) if link.is_pagination else link.extras
            key = places.key_of(link, extras)
            is_further = self._needs_history and link.is_pagination
            if key in self._stored and not self._keeps_all and not is_further:
                found.duplicates += 1
                continue
            child = None if key in self._refused else self._child(link, extras, request, base, key)
            if child is None:
                continue
            identity = child.fingerprint
            if self._keeps_all:
                found.links.append(child)
            if is_further:
                further.add(identity)
            # What was left alone as a link may be known; as a further page it is fetched.
            if identity in fresh or (identity in self._known and not is_further):
                found.duplicates += 1
                continue
            fresh.add(identity)
            if link.is_pagination and request.page in self._ends_when_seen:
                found.next_pages.append(child)
            else:
                found.add(child, key)
        self._hits += found.duplicates
        self._misses += len(fresh)
        return _marked(found, further) if further else found

    def refusal_of(self, link: Link, request: Request, base: str) -> str | None:
        """Why a link of a page would not be followed, or None."""
        place = self._place_of(link, request, base)
        return place.reason if isinstance(place, _Refused) else None

    def _child(self, link: Link, extras: Extras, request: Request, base: str, key: LinkKey) -> Request | None:
        place = self._place_of(link, request, base)
        if isinstance(place, _Refused):
            if place.is_lasting and not self._scope.same_host and link.depth is None and key is not _UNKEYED:
                self._refused.add(key)  # with `same_host` it depends on the page, which the key does not name
            return None
        url, canonical, depth = place
        if extras is NO_EXTRAS:
            is_sitemap = link.depth is not None and link.page.startswith(OWN_PAGE)
            identity = fingerprint(canonical)
            return Request(url, identity, link.page, link.priority, depth, is_next_page=is_sitemap)
        if link.is_pagination and origin_of(url) != origin_of(request.url):
            extras = msgspec.structs.replace(extras, headers=())  # they may hold secrets of that origin
        identity = fingerprint(canonical, method=extras.method, body=extras.body)
        return Request(url, identity, link.page, link.priority, depth, extras=extras)

    def _place_of(self, link: Link, request: Request, base: str) -> _Place | _Refused:
        """Where a link leads, or why it is not followed."""
        depth = link.depth
        if depth is None:
            depth = request.depth if link.is_pagination else request.depth + 1
            if self._is_too_deep(depth, link):
                return _Refused(f"limit: depth {depth} is too deep")
        url = normal_url(link.href, base)
        if url is None:
            return _Refused("it is not an http or https URL")
        canonical = canonical_url(url, self._plan.canonical)
        refusal = (
            self._refusal(url, canonical, request.host)
            if link.depth is None
            else self._listed_refusal(url, canonical, link, request)
        )
        if refusal is not None:
            return _Refused(refusal, is_lasting=True)
        pattern = pattern_refusal(canonical, link.allow, link.deny)
        return _Place(url, canonical, depth) if pattern is None else _Refused(pattern)

    def _listed_refusal(self, url: str, canonical: str, link: Link, request: Request) -> str | None:
        """Why what a sitemap or robots.txt lists is kept out, or None. Sitemaps may lie on another host when
        robots.txt says so, and on their index's; the host of a sitemap says nothing about its pages.
        """
        if not link.page.startswith(OWN_PAGE):
            return self._refusal(url, canonical, None)
        host = host_of(url)
        if request.page != ROBOTS_PAGE and host != request.host and not self._scope.includes_host(host):
            return f"scope: host {host} is not in the task's scope"
        return self._plan.traps.refusal(url)

    def _is_too_deep(self, depth: int, link: Link) -> bool:
        limit = self._plan.limits.max_depth
        return (limit is not None and depth > limit) or (
            link.max_depth is not None and depth > link.max_depth
        )

    def _refusal(self, url: str, canonical: str, parent_host: str | None) -> str | None:
        reason = url_refusal(self._scope, self._plan.traps, url, canonical, parent_host)
        if reason is None and self._robots(url) is False:
            return "robots: disallowed"
        return reason

    def redirect_refusal(self, url: str, request: Request) -> str | None:
        """Why a request may not be redirected to a URL, or None. Where an entry leads, joins the scope."""
        if request.page.startswith(OWN_PAGE):
            return self._plan.traps.refusal(url)
        canonical = canonical_url(url, self._plan.canonical)
        if request.is_entry and not self._scope.domains:
            patterns = pattern_refusal(canonical, self._scope.allow, self._scope.deny)
            return patterns or self._plan.traps.refusal(url)
        return self._refusal(url, canonical, request.host)


def _link_bytes(key: LinkKey) -> int:
    """What a key takes in a set; all but its href is shared with others of its page."""
    return 200 + len(key[1])


class _Places:
    """Where links of a page go out from: the same href from the same place means the same URL."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._origin = origin_of(base)
        self._folder = base.rpartition("/")[0]

    def key_of(self, link: Link, extras: Extras) -> LinkKey:
        """What a plain link is known by; other requests are known by their fingerprint only."""
        if extras is not NO_EXTRAS and (extras.method != "GET" or extras.body):
            return _UNKEYED
        return self._from(link.href), link.href, link.page

    def _from(self, href: str) -> str:
        first = href[:1]
        if first == "/":
            return self._origin
        if first in "?#" or first <= " " or (":" in href and "://" not in href[:8]):
            return self._base  # such a link goes out from the page, not from its folder (also `http:?page=2`)
        return self._folder


def _marked(found: ChildRequests, further: set[bytes]) -> ChildRequests:
    """The same, told which children are further pages of a list."""

    def mark(requests: list[Request]) -> list[Request]:
        return [
            msgspec.structs.replace(each, is_next_page=True) if each.fingerprint in further else each
            for each in requests
        ]

    return msgspec.structs.replace(
        found,
        children=mark(found.children),
        links=mark(found.links),
        next_pages=mark(found.next_pages),
    )


def _kept(link: Link, request: Request) -> Extras:
    """What the request for a further page has besides its URL: what that of this page has."""
    extras = request.extras if link.extras is NO_EXTRAS else link.extras
    if extras == NO_EXTRAS:
        return NO_EXTRAS
    meta = {name: value for name, value in extras.meta.items() if name != "redirects"}
    return msgspec.structs.replace(extras, meta=meta, version=None)
