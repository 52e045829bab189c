"""Requests as their rows have them."""

from __future__ import annotations

import msgspec

from smartspider.core.request import NO_EXTRAS, Extras, Request

_extras = msgspec.json.Decoder(Extras)


def request_of(  # noqa: PLR0917 - the columns of a row, in the order of the statements
    url: str,
    fingerprint: bytes,
    page: str,
    priority: int,
    depth: int,
    is_entry: int,
    extras: bytes | None,
    parent: str | None,
) -> Request:
    """A request ready to be handed out; `parent` is the URL of the page it was found on."""
    details = _extras.decode(extras) if extras else NO_EXTRAS
    return Request(url, fingerprint, page, priority, depth, bool(is_entry), details, parent)
