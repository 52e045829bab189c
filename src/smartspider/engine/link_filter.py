"""Turn the links of a page into requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from smartspider.core.pages.extraction import Extraction, Link
from smartspider.core.pages.files import FILE_PAGE
from smartspider.core.pages.rules import OWN_PAGE, ROBOTS_PAGE
from smartspider.core.redaction.masking import is_harmless_body
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.requests.refusal import LeftOutLink, Refusal
from smartspider.core.requests.request import (
    DEFAULT_PAGE,
    NO_EXTRAS,
    Extras,
    Request,
    fingerprint,
    request_identity,
)
from smartspider.core.requests.request_headers import without_content, without_secrets
from smartspider.core.requests.scope import out_of_scope, pattern_refusal, url_refusal
from smartspider.core.requests.urls import CanonicalRules, canonical_url, host_of, normal_url, rules_for
from smartspider.core.runs.plan import Plan
from smartspider.dedup.memory import RecentSet
from smartspider.engine.link_keys import UNKEYED, LinkBase, LinkKey, link_bytes

LINKS_BYTES = 32_000_000
"""Memory for remembered links: half of it for stored ones, the rest for links that were left out."""
ROBOTS = Refusal("robots", "robots.txt disallows it")
NOT_HTTP = Refusal("not_http", "not an http or https URL")
RobotsCheck = Callable[[str], bool | None]
"""Returns whether robots.txt allows a URL; None if that robots.txt is not known yet."""


class ChildRequests(msgspec.Struct):
    """The child requests of a page, and the links they came from."""

    children: list[Request]
    keys: list[LinkKey]
    duplicates: int = 0
    links: list[Request] = []
    """All children, known ones included; filled if later runs send conditional requests."""
    next_pages: list[Request] = []
    """Next pages that are added only if an item of this page is new; not among `children`."""
    left_out: dict[bytes, LeftOutLink] = {}
    """Links that become no request and were not reported before, by fingerprint."""
    refused: list[LinkKey] = []
    """The keys of those that are refused on every page."""
    reported: list[LinkKey] = []
    """The keys of those that another page may lead to."""

    def add(self, child: Request, key: LinkKey) -> None:
        """Add a child and the link it came from."""
        self.children.append(child)
        if key is not UNKEYED:
            self.keys.append(key)


class _Target(NamedTuple):
    """The target of a link."""

    url: str
    canonical: str
    depth: int


class _Refused(NamedTuple):
    """The reason why a link is not followed. `is_lasting`: the same link is refused on every page."""

    refusal: Refusal
    url: str | None = None
    is_lasting: bool = False


class LinkFilter:
    """Decides which links of a run's pages become requests. Remembers stored links, and refused ones so that
    each is reported once.
    """

    def __init__(self, plan: Plan, robots: RobotsCheck, known: RecentSet[bytes] | None = None) -> None:
        self._plan = plan
        self._robots = robots
        self._scope = plan.scope
        self._trust = OriginTrust((), named=plan.fetch.send_secrets_to)
        self._needs_history = plan.recrawl.needs_history
        self._keeps_all = plan.recrawl.conditional
        self._ends_when_seen = frozenset(name for name, page in plan.pages.items() if page.stop_when.seen)
        self._stored: RecentSet[LinkKey] = RecentSet(LINKS_BYTES // 2, link_bytes)
        self._refused: RecentSet[LinkKey] = RecentSet(LINKS_BYTES // 4, link_bytes)
        self._reported: RecentSet[LinkKey] = RecentSet(LINKS_BYTES // 4, link_bytes)
        self._known: RecentSet[bytes] = RecentSet() if known is None else known
        self._rules = plan.canonical
        """The rules for the links of the present page."""
        self._hits = self._misses = 0

    def admit(self, host: str, page: str = DEFAULT_PAGE) -> None:
        """Add the host of a leased page to the scope, unless the page is a sitemap or robots.txt."""
        if not self._scope.domains and host not in self._scope.hosts and not page.startswith(OWN_PAGE):
            self._scope = self._scope.with_hosts([host])
            self._refused.clear()

    def remember(self, found: ChildRequests) -> None:
        """Remember committed children as known, and committed refusals as reported."""
        self._stored.update(found.keys)
        self._known.update([child.fingerprint for child in found.children])
        self._refused.update(found.refused)
        self._reported.update(found.reported)

    def forget(self) -> None:
        """Forget all known links: committed rows may be lost."""
        self._stored.clear()
        self._known.clear()
        self._refused.clear()
        self._reported.clear()

    def take_counts(self) -> tuple[int, int]:
        """Return the hits and misses since the last call."""
        counts = self._hits, self._misses
        self._hits = self._misses = 0
        return counts

    def children(self, extraction: Extraction, request: Request) -> ChildRequests:
        """Return requests for links that are in scope and not known, and the links that are left out."""
        found = ChildRequests([], [])
        base = extraction.base
        self._rules = self._rules_of(extraction)
        link_base = LinkBase(base)
        fresh: set[bytes] = set()
        next_pages: set[bytes] = set()
        for link in extraction.links:
            extras = _inherited_extras(link, request) if link.is_pagination else link.extras
            key = link_base.key_of(link, extras)
            is_next = self._needs_history and link.is_pagination
            if key in self._stored and not self._keeps_all and not is_next:
                found.duplicates += 1
                continue
            if self._is_reported(link, key, extraction.refusal):
                continue
            target = self._target(link, request, extraction)
            if isinstance(target, _Refused):
                self._leave_out(found, link, extras, key, target, base)
                continue
            child = _child(link, extras, request, target, self._trust)
            identity = child.fingerprint
            if self._keeps_all:
                found.links.append(child)
            if is_next:
                next_pages.add(identity)
            # A known link may be a row that was skipped; as a next page it is fetched.
            if identity in fresh or (not is_next and self._is_stored(identity, key)):
                found.duplicates += 1
                continue
            fresh.add(identity)
            if link.is_pagination and request.page in self._ends_when_seen:
                found.next_pages.append(child)
            else:
                found.add(child, key)
        for identity in found.left_out.keys() & fresh:
            del found.left_out[identity]
        self._hits += found.duplicates
        self._misses += len(fresh)
        return _mark_next_pages(found, next_pages) if next_pages else found

    def refusal_of(self, link: Link, request: Request, extraction: Extraction) -> Refusal | None:
        """Return why a link of a page is not followed, or None."""
        self._rules = self._rules_of(extraction)
        target = self._target(link, request, extraction)
        return target.refusal if isinstance(target, _Refused) else None

    def _rules_of(self, extraction: Extraction) -> CanonicalRules:
        hrefs = [(link.href, extraction.base) for link in extraction.links if "=" in link.href]
        return rules_for(hrefs, self._plan.canonical)

    def _is_stored(self, identity: bytes, key: LinkKey) -> bool:
        """Return whether a request is stored, and remember this spelling of it."""
        if identity not in self._known:
            return False
        if key is not UNKEYED:
            self._stored.add(key)
        return True

    def _is_reported(self, link: Link, key: LinkKey, page_refusal: Refusal | None) -> bool:
        """Return whether a link is refused again, for a reason that needs no look at its URL. Next pages are
        always reported: they may have been reported as a plain link.
        """
        if self._keeps_all or link.is_pagination:
            return False
        if key in self._refused:
            return True
        return (link.refusal is not None or page_refusal is not None) and key in self._reported

    def _leave_out(  # noqa: PLR0917 - the parts of one link, not options
        self, found: ChildRequests, link: Link, extras: Extras, key: LinkKey, refused: _Refused, base: str
    ) -> None:
        """Add a refused link to those left out, unless it was reported or its request is known."""
        if key in self._reported and not self._keeps_all and not link.is_pagination:
            return
        url = refused.url or normal_url(link.href, base)
        if url is None:
            url = canonical = link.href.encode(errors="replace").decode()
        else:
            canonical = canonical_url(url, self._rules)
        identity = request_identity(canonical, page=link.page, extras=extras)
        if identity not in self._known or self._keeps_all:
            left_out = LeftOutLink(identity, url, refused.refusal, link.is_pagination)
            found.left_out.setdefault(identity, left_out)
        if key is not UNKEYED:
            # With `same_host` a refusal depends on the page, which is not part of the key.
            is_lasting = refused.is_lasting and not self._scope.same_host and link.depth is None
            (found.refused if is_lasting else found.reported).append(key)

    def _target(self, link: Link, request: Request, extraction: Extraction) -> _Target | _Refused:
        """Return the target of a link, or why it is not followed: by the task, then by its page."""
        target = self._resolve(link, request, extraction.base)
        if isinstance(target, _Target):
            refusal = link.refusal or extraction.refusal
            if refusal is not None:
                return _Refused(refusal, target.url)
        return target

    def _resolve(self, link: Link, request: Request, base: str) -> _Target | _Refused:
        """Return the target of a link, or why it is not followed."""
        depth = link.depth
        if depth is None:
            depth = request.depth if link.is_pagination else request.depth + 1
            if self._is_too_deep(depth, link):
                return _Refused(Refusal("depth", f"limit: depth {depth} is too deep"))
        url = normal_url(link.href, base)
        if url is None:
            return _Refused(NOT_HTTP, is_lasting=True)
        canonical = canonical_url(url, self._rules)
        refusal = (
            self._refusal(url, canonical, request.host)
            if link.depth is None
            else self._listed_refusal(url, canonical, link, request)
        )
        if refusal is not None:
            return _Refused(refusal, url, is_lasting=True)
        pattern = pattern_refusal(canonical, link.allow, link.deny, "follow")
        return _Target(url, canonical, depth) if pattern is None else _Refused(pattern, url)

    def _listed_refusal(self, url: str, canonical: str, link: Link, request: Request) -> Refusal | None:
        """Return why an entry of a sitemap or robots.txt, or a file, is refused, or None.

        A sitemap may be on another host if robots.txt lists it, or on the host of its index. The host of a
        sitemap does not extend the scope to its pages.
        """
        if not link.page.startswith(OWN_PAGE):
            return self._refusal(url, canonical, None)
        if link.page.startswith(FILE_PAGE):  # a file may be on any host, and robots.txt of each is obeyed
            return ROBOTS if self._robots(url) is False else self._plan.traps.refusal(url)
        host = host_of(url)
        if request.page != ROBOTS_PAGE and host != request.host and not self._scope.includes_host(host):
            return out_of_scope(host)
        return self._plan.traps.refusal(url)

    def _is_too_deep(self, depth: int, link: Link) -> bool:
        limit = self._plan.limits.max_depth
        return (limit is not None and depth > limit) or (
            link.max_depth is not None and depth > link.max_depth
        )

    def _refusal(self, url: str, canonical: str, parent_host: str | None) -> Refusal | None:
        refusal = url_refusal(self._scope, self._plan.traps, url, canonical, parent_host)
        if refusal is None and self._robots(url) is False:
            return ROBOTS
        return refusal

    def redirect_refusal(self, url: str, request: Request) -> Refusal | None:
        """Return why a redirect to a URL is refused, or None. The target of an entry joins the scope."""
        if request.page.startswith(OWN_PAGE):
            return self._plan.traps.refusal(url)
        canonical = canonical_url(url, self._plan.canonical)
        if request.is_entry and not self._scope.domains:
            patterns = pattern_refusal(canonical, self._scope.allow, self._scope.deny)
            return patterns or self._plan.traps.refusal(url)
        return self._refusal(url, canonical, request.host)


def _child(link: Link, extras: Extras, request: Request, target: _Target, trust: OriginTrust) -> Request:
    """Return the request of a link."""
    url, canonical, depth = target
    if extras is NO_EXTRAS:
        is_file = link.page.startswith(FILE_PAGE)
        is_sitemap = link.depth is not None and link.page.startswith(OWN_PAGE) and not is_file
        identity = request_identity(canonical, page=link.page) if is_file else fingerprint(canonical)
        is_next_page = link.is_pagination or is_sitemap
        return Request(url, identity, link.page, link.priority, depth, is_next_page=is_next_page)
    if link.is_pagination and not trust.goes_on(request.url, url):
        if extras.body is not None and not is_harmless_body(extras.body):
            own = without_content(extras.headers)
            extras = Extras(headers=own, meta=extras.meta, variant=extras.variant)
        extras = msgspec.structs.replace(extras, headers=without_secrets(extras.headers))
    identity = request_identity(canonical, extras=extras)
    return Request(
        url, identity, link.page, link.priority, depth, extras=extras, is_next_page=link.is_pagination
    )


def _mark_next_pages(found: ChildRequests, next_pages: set[bytes]) -> ChildRequests:
    """Return the children with next pages marked."""

    def mark(requests: list[Request]) -> list[Request]:
        return [
            msgspec.structs.replace(each, is_next_page=True) if each.fingerprint in next_pages else each
            for each in requests
        ]

    return msgspec.structs.replace(
        found,
        children=mark(found.children),
        links=mark(found.links),
        next_pages=mark(found.next_pages),
    )


def _inherited_extras(link: Link, request: Request) -> Extras:
    """Return the extras of a next page: those of its link, else those of the current page."""
    extras = request.extras if link.extras is NO_EXTRAS else link.extras
    if extras == NO_EXTRAS:
        return NO_EXTRAS
    meta = {name: value for name, value in extras.meta.items() if name != "redirects"}
    return msgspec.structs.replace(extras, meta=meta, version=None)
