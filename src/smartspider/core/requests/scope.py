"""Which URLs belong to a run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from smartspider.core.requests.urls import host_of


class UrlScope(msgspec.Struct, frozen=True):
    """Entry hosts by default; `domains` with their subdomains instead when given; deny beats allow."""

    hosts: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    same_host: bool = False
    """A link must stay on the host of the page it was found on."""

    def refusal(self, canonical: str, host: str, parent_host: str | None = None) -> str | None:
        """Why a URL is outside, in a few words, or None when it is inside."""
        if self.same_host and parent_host is not None and host != parent_host:
            return f"scope: {host} is not the page's own host"
        if not self.has_host(host):
            return f"scope: host {host} is not in the task's scope"
        return pattern_refusal(canonical, self.allow, self.deny)

    def has_host(self, host: str) -> bool:
        """Whether the host itself is inside."""
        if self.domains:
            return is_within(host, self.domains)
        return host in self.hosts

    def joined_by(self, hosts: Iterable[str]) -> UrlScope:
        """The same scope with more hosts: where entry URLs were redirected to."""
        return msgspec.structs.replace(self, hosts=self.hosts.union(hosts))


def is_within(host: str, domains: frozenset[str]) -> bool:
    """Whether `host` is one of `domains` or below one."""
    while host:
        if host in domains:
            return True
        host = host.partition(".")[2]
    return False


def pattern_refusal(canonical: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> str | None:
    """Why the patterns refuse a canonical URL, or None."""
    for pattern in deny:
        if _compiled(pattern).search(canonical):
            return f"scope: deny pattern {pattern!r} matches"
    if allow and not any(_compiled(pattern).search(canonical) for pattern in allow):
        return "scope: no allow pattern matches"
    return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class TrapGuards(msgspec.Struct, frozen=True):
    """Bounds that an honest site does not reach."""

    max_url_length: int = 2048
    max_path_segments: int = 32
    max_repeats: int = 4
    """Times the same path segment may stand in one URL."""
    max_urls_per_host: int | None = None
    max_links_per_page: int = 50_000

    def refusal(self, normal: str) -> str | None:
        """Why a URL looks like a trap, or None."""
        if len(normal) > self.max_url_length:
            return f"trap: the URL is longer than {self.max_url_length} characters"
        path = normal.partition("?")[0]
        count = path.count("/") - 2
        if count <= self.max_repeats:
            return None
        if count > self.max_path_segments:
            return f"trap: the path has more than {self.max_path_segments} segments"
        segments = [segment for segment in path.split("/")[3:] if segment]
        for segment in set(segments):
            if segments.count(segment) > self.max_repeats:
                return f"trap: the path repeats {segment!r} more than {self.max_repeats} times"
        return None


def url_refusal(
    scope: UrlScope, traps: TrapGuards, url: str, canonical: str, parent_host: str | None = None
) -> str | None:
    """Return why a URL must not become a request of a run, or None. The crawl and `why` both call it."""
    return scope.refusal(canonical, host_of(url), parent_host) or traps.refusal(url)
