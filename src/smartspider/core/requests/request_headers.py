"""Headers of a request after a redirect: what belongs to its body, and what to its origin."""

from __future__ import annotations

from smartspider.core.redaction import is_secret_name
from smartspider.core.requests.urls import origin_of

Headers = tuple[tuple[str, str], ...]

_OF_BODY = ("content-", "transfer-")


def has_credentials(headers: Headers) -> bool:
    """Return whether a header may hold credentials, by its name."""
    return any(is_secret_name(name) for name, _ in headers)


def without_credentials(headers: Headers) -> Headers:
    """Return the headers that may be sent to any origin."""
    return tuple(header for header in headers if not is_secret_name(header[0]))


def without_content(headers: Headers) -> Headers:
    """Return the headers that do not describe a body."""
    return tuple(header for header in headers if not header[0].lower().startswith(_OF_BODY))


def only_content(headers: Headers) -> Headers:
    """Return the headers that describe a body."""
    return tuple(header for header in headers if header[0].lower().startswith(_OF_BODY))


def trusted_origins(url: str) -> tuple[str, ...]:
    """Return the origins that credentials for a URL may be sent to: its own, and on default ports the same
    host by https.
    """
    origin = origin_of(url)
    scheme, _, authority = origin.partition("://")
    has_port = authority.rpartition("]")[2].find(":") >= 0
    return (origin,) if scheme == "https" or has_port else (origin, f"https://{authority}")
