"""Parts of a request after a redirect: what belongs to its body, and what to its origin."""

from __future__ import annotations

from smartspider.core.errors import BadRedirect
from smartspider.core.redaction.names import is_secret_name
from smartspider.core.requests.secrets import has_references, references_in
from smartspider.core.requests.urls import origin_of

Headers = tuple[tuple[str, str], ...]

_OF_BODY = ("content-", "transfer-")


def has_credentials(headers: Headers) -> bool:
    """Return whether a header may hold credentials: by its name, or because it refers to a secret."""
    return any(map(_is_credential, headers))


def without_credentials(headers: Headers) -> Headers:
    """Return the headers that may be sent to any origin."""
    return tuple(header for header in headers if not _is_credential(header))


def _is_credential(header: tuple[str, str]) -> bool:
    name, value = header
    return is_secret_name(name) or has_references(value)


def require_open_body(body: bytes | None, url: str, target: str) -> None:
    """Raise `BadRedirect` if a body with secrets would be sent to another origin."""
    names = () if body is None else sorted(set(references_in(body)))
    if names:
        raise BadRedirect(
            f"{url} redirects to {target}, another origin, where ${{{names[0]}}} of the body is not sent",
            hint=f"use {target} as the URL if you trust it",
        )


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


def merge_headers(under: Headers, over: Headers) -> Headers:
    """Return the headers of `over`, and those of `under` that it does not name."""
    named = {name.lower() for name, _ in over}
    return (*(header for header in under if header[0].lower() not in named), *over)
