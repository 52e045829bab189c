"""A request: one URL to fetch in a run."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.requests.fingerprint import fingerprint
from smartspider.core.requests.recrawl import PageVersion
from smartspider.core.requests.urls import CanonicalRules, canonical_url, host_of

DEFAULT_PAGE = "default"


class Extras(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parts of a request that most requests do not have; stored as one JSON value."""

    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    meta: dict[str, Any] = {}
    version: PageVersion | None = None
    """The version of the page that an earlier run stored: only another one is asked for."""


NO_EXTRAS = Extras()


class Request(msgspec.Struct, frozen=True):
    """What to fetch, and what the task knows about it. `url` is normal; identity is `fingerprint`."""

    url: str
    fingerprint: bytes
    page: str = DEFAULT_PAGE
    priority: int = 0
    depth: int = 0
    is_entry: bool = False
    extras: Extras = NO_EXTRAS
    parent: str | None = None
    """The URL of the page it was found on; known when it is handed out."""
    is_next_page: bool = False
    """Pagination led to it when it was found."""

    @property
    def host(self) -> str:
        """The politeness key."""
        return host_of(self.url)


def make_request(
    url: str,
    *,
    rules: CanonicalRules = CanonicalRules(),
    page: str = DEFAULT_PAGE,
    priority: int = 0,
    depth: int = 0,
    is_entry: bool = False,
    extras: Extras = NO_EXTRAS,
) -> Request:
    """A request for a normal URL, its fingerprint computed."""
    identity = fingerprint(canonical_url(url, rules), method=extras.method, body=extras.body)
    return Request(url, identity, page, priority, depth, is_entry, extras)
