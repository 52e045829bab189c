"""Requests: URLs to fetch in a run, and the fingerprints that identify them."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from smartspider.core.requests.recrawl import PageVersion
from smartspider.core.requests.urls import CanonicalRules, canonical_url, host_of

DEFAULT_PAGE = "default"
FILE = "@file"
"""The prefix of page types of files."""
VARIANT = "@variant"


class Extras(msgspec.Struct, frozen=True, omit_defaults=True):
    """Optional parts of a request, stored as one JSON value."""

    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    meta: dict[str, Any] = {}
    version: PageVersion | None = None
    """The version that an earlier run stored, for a conditional request."""
    variant: str = ""
    """Part of the identity: tells requests apart that differ by headers or `meta` alone. Next pages and
    redirects keep it.
    """


NO_EXTRAS = Extras()


class Request(msgspec.Struct, frozen=True):
    """A URL to fetch, with its task settings. `url` is normalized; `fingerprint` is the identity."""

    url: str
    fingerprint: bytes
    page: str = DEFAULT_PAGE
    priority: int = 0
    depth: int = 0
    is_entry: bool = False
    extras: Extras = NO_EXTRAS
    parent: str | None = None
    """The URL of the page that links to it; set when the request is leased."""
    is_next_page: bool = False
    """Found by pagination."""

    @property
    def host(self) -> str:
        """The host that politeness applies to."""
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
    """Return a request for a normalized URL, with its fingerprint."""
    identity = request_identity(canonical_url(url, rules), page=page, extras=extras)
    return Request(url, identity, page, priority, depth, is_entry, extras)


def request_identity(canonical: str, *, page: str = DEFAULT_PAGE, extras: Extras = NO_EXTRAS) -> bytes:
    """Return the fingerprint of a request. A file is another request than the page with the same URL."""
    headers = ((FILE, page),) if page.startswith(FILE) else ()
    if extras.variant:
        headers = (*headers, (VARIANT, extras.variant))
    return fingerprint(canonical, method=extras.method, body=extras.body, headers=headers)


def variant_of(headers: tuple[tuple[str, str], ...], meta: dict[str, Any] | None = None) -> str:
    """Return the variant of a request: equal for equal headers and `meta` only."""
    parts = sorted((name.lower(), value) for name, value in headers), meta or {}
    return blake2b(msgspec.json.encode(parts, order="sorted"), digest_size=8).hexdigest()


FINGERPRINT_VERSION = 1
_PERSON = b"smartspider/%d" % FINGERPRINT_VERSION


def fingerprint(
    canonical: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> bytes:
    """Return 16 bytes that identify a request: equal for equal requests only.

    Parts are length-prefixed, so that different requests cannot produce the same input.
    """
    digest = blake2b(canonical.encode(), digest_size=16, person=_PERSON)
    if method != "GET" or body or headers:
        for part in (method.encode(), body or b"", *_named(headers)):
            digest.update(b"\0%d:" % len(part))
            digest.update(part)
    return digest.digest()


def content_fingerprint(data: bytes) -> bytes:
    """Return 16 bytes that identify an item's content."""
    return blake2b(data, digest_size=16, person=b"smartspider/item").digest()


def _named(headers: tuple[tuple[str, str], ...]) -> list[bytes]:
    return sorted(f"{name.lower()}:{value}".encode() for name, value in headers)
