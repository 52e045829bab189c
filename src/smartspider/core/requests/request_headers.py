"""Parts of a request: what belongs to its body, and what to its origin."""

from __future__ import annotations

from smartspider.core.errors import SecretsWithheld
from smartspider.core.redaction.masking import is_harmless_body
from smartspider.core.redaction.names import is_harmless_header
from smartspider.core.requests.secrets import has_references, references_in
from smartspider.core.requests.urls import origin_of

Headers = tuple[tuple[str, str], ...]

_OF_BODY = ("content-", "transfer-")


def has_secrets(headers: Headers) -> bool:
    """Return whether a header may hold a secret: by a name that is not known to be harmless, or by a
    reference.
    """
    return any(map(_is_secret, headers))


def without_secrets(headers: Headers) -> Headers:
    """Return the headers that may be sent to any origin."""
    return tuple(header for header in headers if not _is_secret(header))


def _is_secret(header: tuple[str, str]) -> bool:
    name, value = header
    return not is_harmless_header(name) or has_references(value)


def require_open_body(body: bytes | None, target: str) -> None:
    """Raise `SecretsWithheld` unless a body may be sent to any origin."""
    if body is None or (not has_references(body) and is_harmless_body(body)):
        return
    names = ", ".join(f"${{{name}}}" for name in dict.fromkeys(references_in(body)))
    raise withheld(f"the body with {names}" if names else "the body", target)


def withheld(what: str, target: str) -> SecretsWithheld:
    """Return the error of a request that is not sent because its secrets are for other origins."""
    return SecretsWithheld(
        f"{what} is not sent to {origin_of(target)}, which is not an origin of the task's entries",
        hint="add it to fetch.send_secrets_to if you trust it",
    )


def without_content(headers: Headers) -> Headers:
    """Return the headers that do not describe a body."""
    return tuple(header for header in headers if not header[0].lower().startswith(_OF_BODY))


def only_content(headers: Headers) -> Headers:
    """Return the headers that describe a body."""
    return tuple(header for header in headers if header[0].lower().startswith(_OF_BODY))


def merge_headers(under: Headers, over: Headers) -> Headers:
    """Return the headers of `over`, and those of `under` that it does not name."""
    named = {name.lower() for name, _ in over}
    return (*(header for header in under if header[0].lower() not in named), *over)
