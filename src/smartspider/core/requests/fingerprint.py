"""The identity of a request: BLAKE2b-128, versioned, over method, canonical URL, body and named headers."""

from __future__ import annotations

from hashlib import blake2b

VERSION = 1
_PERSON = b"smartspider/%d" % VERSION


def fingerprint(
    canonical: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> bytes:
    """Sixteen bytes that are equal exactly when two requests ask for the same thing.

    Parts are length-prefixed, so no two different requests can spell the same input.
    """
    digest = blake2b(canonical.encode(), digest_size=16, person=_PERSON)
    if method != "GET" or body or headers:
        for part in (method.encode(), body or b"", *_named(headers)):
            digest.update(b"\0%d:" % len(part))
            digest.update(part)
    return digest.digest()


def content_fingerprint(data: bytes) -> bytes:
    """Sixteen bytes that stand for an item's content."""
    return blake2b(data, digest_size=16, person=b"smartspider/item").digest()


def _named(headers: tuple[tuple[str, str], ...]) -> list[bytes]:
    return sorted(f"{name.lower()}:{value}".encode() for name, value in headers)
