"""Pages: responses to requests, and their headers Location, X-Robots-Tag and Retry-After."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from math import isfinite

import msgspec

from smartspider.core.datetimes import assume_utc
from smartspider.core.errors import BadRedirect
from smartspider.core.requests.urls import normal_url

_LANGUAGE = re.compile(rb"<html\b[^>]{0,1000}?\slang\s*=\s*[\"']?([A-Za-z0-9-]{2,20})", re.IGNORECASE)
_HEAD_BYTES = 4_096


class Page(msgspec.Struct, frozen=True):
    """A response with its body, which is decompressed but not decoded; `charset` decodes it."""

    url: str
    status: int
    headers: dict[str, str]
    """Names in lower case; repeated headers joined by a comma and a space."""
    body: bytes
    charset: str
    fetched_at: float
    elapsed_s: float = 0.0
    hops: tuple[str, ...] = ()
    """The URLs that redirected here, the requested one first; empty without redirects."""
    became_get: bool = False
    """A redirect turned the request into a GET without its body."""
    withheld: bool = False
    """The site asked for credentials, and secret headers were not sent because they are for other origins."""
    refresh: str | None = None
    """Where the page forwards its visitors to by a meta refresh; the redirect layer looks for it."""

    @property
    def text(self) -> str:
        """The decoded body; undecodable bytes become U+FFFD."""
        return self.body.decode(self.charset, errors="replace")

    @property
    def media_type(self) -> str:
        """`text/html` for `Content-Type: text/html; charset=utf-8`; empty without the header."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def link_charset(self) -> str:
        """The charset of the queries of its links: its own for markup, else UTF-8."""
        return "utf-8" if self.media_type.endswith("json") else self.charset

    @property
    def language(self) -> str | None:
        """The language tag that the page declares, such as `de-AT`: `<html lang>`, else Content-Language."""
        found = _LANGUAGE.search(self.body, 0, _HEAD_BYTES)
        if found is not None:
            return found[1].decode()
        tag = self.headers.get("content-language", "").strip()
        return tag if tag and "," not in tag else None


REDIRECTS = frozenset({301, 302, 303, 307, 308})
UNAUTHORIZED = frozenset({401, 403})


def redirect_target(page: Page) -> str | None:
    """Return the normalized URL a page redirects to, or None if it is not a redirect.

    Raise `BadRedirect` if Location is missing or not an http(s) URL.
    """
    if page.status not in REDIRECTS:
        return page.refresh
    location = page.headers.get("location")
    if location is None:
        raise BadRedirect(f"{page.url} returned {page.status} without a Location header")
    target = normal_url(location.strip(), page.url)
    if target is None:
        raise BadRedirect(f'{page.url} redirects to "{location[:200]}", which is not an http(s) URL')
    return target


ROBOTS_TOKEN = "SmartSpider"  # noqa: S105 - a product token, no secret
"""The product token in robots.txt and X-Robots-Tag."""

_FORBIDS = frozenset({"nofollow", "none"})
_TAKES_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


def header_forbids_follow(headers: dict[str, str]) -> bool:
    """Return whether X-Robots-Tag forbids following the links, for all robots or for this one."""
    value = headers.get("x-robots-tag")
    if value is None:
        return False
    is_ours = True
    for part in value.split(","):
        directive = part.strip().lower()
        name, colon, rest = directive.partition(":")
        name = name.strip()
        if colon and " " not in name and name not in _TAKES_VALUE:
            # "otherbot: noindex, nofollow": a name applies until the next name. Part of a date is not a name.
            is_ours = name == ROBOTS_TOKEN.lower()
            directive = rest.strip()
        if is_ours and directive in _FORBIDS:
            return True
    return False


def retry_after_s(value: str | None, now: float) -> float | None:
    """Return the seconds of a Retry-After value (seconds or a date); None if missing or invalid."""
    if not value:
        return None
    text = value.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        seconds = float(text)
        return seconds if isfinite(seconds) else None
    try:
        moment = assume_utc(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment.timestamp() - now)
