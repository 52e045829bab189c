"""From the links of a page to the requests that are worth making."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from smartspider.core import admission
from smartspider.core.extraction import Extraction, Link
from smartspider.core.fingerprint import fingerprint
from smartspider.core.plan import Plan
from smartspider.core.request import Request
from smartspider.core.scope import pattern_refusal
from smartspider.core.urls import canonical_url, normal_url, origin_of
from smartspider.engine.known import RecentSet

LinkKey = tuple[str, str, str]
RobotsOpinion = Callable[[str], bool | None]
"""Whether robots.txt allows a URL; None when its host's robots.txt is not known yet."""


class Found(msgspec.Struct):
    """The children of a page, and the links they came from."""

    children: list[Request]
    keys: list[LinkKey]
    duplicates: int = 0


class LinkFilter:
    """Decides which links of a run's pages become requests. Remembers what needs no second look."""

    def __init__(self, plan: Plan, robots: RobotsOpinion) -> None:
        self._plan = plan
        self._robots = robots
        self._scope = plan.scope
        self._stored: RecentSet[LinkKey] = RecentSet()
        self._refused: RecentSet[LinkKey] = RecentSet()
        self._known: RecentSet[bytes] = RecentSet()

    def admit(self, host: str) -> None:
        """A host whose request was handed out belongs to the run, whatever led to it."""
        if not self._scope.domains and host not in self._scope.hosts:
            self._scope = self._scope.joined_by([host])
            self._refused.clear()

    def remember(self, found: Found) -> None:
        """These children are committed: from now on they are known."""
        self._stored.update(found.keys)
        self._known.update([child.fingerprint for child in found.children])

    def children(self, extraction: Extraction, request: Request) -> Found:
        """Requests for the links of a page that are in scope and not known."""
        found = Found([], [])
        base = extraction.base
        origin, folder = origin_of(base), base.rpartition("/")[0]
        fresh: set[bytes] = set()
        for link in extraction.links:
            href = link.href
            first = href[:1]
            if first == "/":
                place = origin
            elif first in "?#" or first <= " " or (":" in href and "://" not in href[:8]):
                place = base  # such a link goes out from the page, not from its folder (also `http:?page=2`)
            else:
                place = folder
            key = (place, href, link.page)
            if key in self._stored:
                found.duplicates += 1
                continue
            if key in self._refused:
                continue
            child = self._child(link, request, base, key)
            if child is None:
                continue
            if child.fingerprint in self._known or child.fingerprint in fresh:
                found.duplicates += 1
                continue
            fresh.add(child.fingerprint)
            found.children.append(child)
            found.keys.append(key)
        return found

    def _child(self, link: Link, request: Request, base: str, key: LinkKey) -> Request | None:
        depth = request.depth if link.is_pagination else request.depth + 1
        if self._is_too_deep(depth, link):
            return None
        url = normal_url(link.href, base)
        if url is None:
            return None
        canonical = canonical_url(url, self._plan.canonical)
        if self._refusal(url, canonical, request.host) is not None:
            if not self._scope.same_host:  # there it depends on the page, which the key does not name
                self._refused.add(key)
            return None
        if pattern_refusal(canonical, link.allow, link.deny) is not None:
            return None
        return Request(url, fingerprint(canonical), link.page, link.priority, depth)

    def _is_too_deep(self, depth: int, link: Link) -> bool:
        limit = self._plan.limits.max_depth
        return (limit is not None and depth > limit) or (
            link.max_depth is not None and depth > link.max_depth
        )

    def _refusal(self, url: str, canonical: str, parent_host: str) -> str | None:
        reason = admission.refusal(self._plan, self._scope, url, canonical, parent_host)
        if reason is None and self._robots(url) is False:
            return "robots: disallowed"
        return reason

    def redirect_refusal(self, url: str, request: Request) -> str | None:
        """Why a request may not be redirected to a URL, or None. Where an entry leads, joins the scope."""
        canonical = canonical_url(url, self._plan.canonical)
        if request.is_entry and not self._scope.domains:
            patterns = pattern_refusal(canonical, self._scope.allow, self._scope.deny)
            return patterns or self._plan.traps.refusal(url)
        return self._refusal(url, canonical, request.host)
