"""The scope of a run: hosts, patterns, and limits against crawler traps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec

from smartspider.core.errors import PatternTimeout
from smartspider.core.patterns.pattern import user_pattern
from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.urls import host_of


class UrlScope(msgspec.Struct, frozen=True):
    """The entry hosts, or `domains` with their subdomains if given. Deny patterns beat allow patterns."""

    hosts: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    same_host: bool = False
    """Links must stay on the host of their page."""

    def refusal(self, canonical: str, host: str, parent_host: str | None = None) -> Refusal | None:
        """Return why a URL is out of scope, or None."""
        if self.same_host and parent_host is not None and host != parent_host:
            return Refusal("scope_host", f"scope: {host} is not the page's own host")
        if not self.includes_host(host):
            return out_of_scope(host)
        return pattern_refusal(canonical, self.allow, self.deny)

    def includes_host(self, host: str) -> bool:
        """Return whether the host is in scope."""
        if self.domains:
            return is_within(host, self.domains)
        return host in self.hosts

    def with_hosts(self, hosts: Iterable[str]) -> UrlScope:
        """Return the scope with additional hosts: those that entry URLs redirect to."""
        return msgspec.structs.replace(self, hosts=self.hosts.union(hosts))


def is_within(host: str, domains: frozenset[str]) -> bool:
    """Return whether `host` is one of `domains` or a subdomain of one."""
    while host:
        if host in domains:
            return True
        host = host.partition(".")[2]
    return False


def out_of_scope(host: str) -> Refusal:
    """Return the refusal of a host that is not in scope."""
    return Refusal("scope_host", f"scope: host {host} is not in the task's scope")


def pattern_refusal(
    canonical: str, allow: tuple[str, ...], deny: tuple[str, ...], where: str = "scope"
) -> Refusal | None:
    """Return why the patterns reject a canonical URL, or None. `where` is their place in the task; raise
    `PatternTimeout`.
    """
    if deny and (denied := _matching(canonical, deny, where, "deny")) is not None:
        return Refusal("scope_deny", f"scope: deny pattern {denied!r} matches")
    if allow and _matching(canonical, allow, where, "allow") is None:
        return NO_ALLOW_PATTERN
    return None


NO_ALLOW_PATTERN = Refusal("scope_allow", "scope: no allow pattern matches")


def _matching(canonical: str, patterns: tuple[str, ...], where: str, key: str) -> str | None:
    """Return the first pattern that matches."""
    longest, searches = _cheap(patterns)
    if len(canonical) <= longest:
        for number, search in enumerate(searches):
            if search(canonical):
                return patterns[number]
        return None
    for number, pattern in enumerate(patterns):
        try:
            if user_pattern(pattern).search(canonical):
                return pattern
        except PatternTimeout as slow:
            raise slow.at(f"{where}.{key}[{number}]") from None
    return None


@lru_cache(maxsize=512)
def _cheap(patterns: tuple[str, ...]) -> tuple[int, list[Callable[[str], object]]]:
    """Return the length of URLs that `re` may search for all patterns, and its searches."""
    cheap = [user_pattern(pattern).cheap for pattern in patterns]
    return min(longest for longest, _ in cheap), [search for _, search in cheap]


class TrapGuards(msgspec.Struct, frozen=True):
    """Limits against crawler traps. Ordinary sites stay below them."""

    max_url_length: int = 2048
    max_path_segments: int = 32
    max_repeats: int = 4
    """Maximum occurrences of the same path segment in a URL."""
    max_urls_per_host: int | None = None
    max_links_per_page: int = 50_000

    def refusal(self, normal: str) -> Refusal | None:
        """Return why a URL looks like a trap, or None."""
        if len(normal) > self.max_url_length:
            return _trap(f"the URL is longer than {self.max_url_length} characters")
        path = normal.partition("?")[0]
        count = path.count("/") - 2
        if count <= self.max_repeats:
            return None
        if count > self.max_path_segments:
            return _trap(f"the path has more than {self.max_path_segments} segments")
        segments = [segment for segment in path.split("/")[3:] if segment]
        for segment in set(segments):
            if segments.count(segment) > self.max_repeats:
                return _trap(f"the path repeats {segment!r} more than {self.max_repeats} times")
        return None


def page_is_full(max_links: int) -> Refusal:
    """Return the refusal of a link beyond the maximum of its page."""
    return _trap(f"the page has more than {max_links} links (traps.max_links_per_page)")


def host_is_full(host: str, max_urls: int) -> Refusal:
    """Return the refusal of a URL beyond the maximum of its host."""
    return _trap(f"{host} has {max_urls} URLs in this run already (traps.max_urls_per_host)")


def _trap(why: str) -> Refusal:
    return Refusal("trap", f"trap: {why}")


def url_refusal(
    scope: UrlScope, traps: TrapGuards, url: str, canonical: str, parent_host: str | None = None
) -> Refusal | None:
    """Return why a URL must not become a request of a run, or None. The crawl and `why` both call it."""
    return scope.refusal(canonical, host_of(url), parent_host) or traps.refusal(url)
