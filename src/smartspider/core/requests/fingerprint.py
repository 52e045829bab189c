"""Request fingerprints: versioned BLAKE2b-128 over method, canonical URL, body and selected headers."""

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
