"""Which URLs belong to a run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec


class Scope(msgspec.Struct, frozen=True):
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

    def joined_by(self, hosts: Iterable[str]) -> Scope:
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
