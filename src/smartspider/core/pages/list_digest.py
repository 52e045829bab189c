"""Digests of what pages of a list bring: a page with the digest of an earlier one repeats it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from smartspider.core.pages.expectations import reads_page
from smartspider.core.pages.extraction import EMPTY, Extraction, Item
from smartspider.core.pages.rules import PagePlan
from smartspider.core.requests.urls import has_session_id, without_session_ids

_DISTINCT = 4
_BYTES = 24
"""Distinct values and links of a page, and their size, from which equal ones are no coincidence."""
_QUERY = re.compile(rb"[?;][^\s\"'<>]*")

_encode = msgspec.json.Encoder().encode


class ListDigests:
    """Computes the digests of the pages of a type."""

    def __init__(self, plan: PagePlan) -> None:
        self._is_list = plan.kind == "rules" and plan.pagination is not None
        self._elsewhere = frozenset(name for name, rule in plan.fields.items() if not reads_page(rule))

    def digest(self, extraction: Extraction, body: bytes) -> bytes:
        """Return the digest of a page; empty if it brings nothing. Session ids and the order make no
        difference. Where items and links are few, the rest of the body counts too, without queries of URLs.
        """
        if not self._is_list:
            return b""
        items = list(self._items(extraction))
        parts = {_encode(item) for item in items}
        links = set(_links(extraction))
        if not links and not parts:
            return b""
        parts |= links
        if has_session_id(b"\n".join(parts)):
            parts = {without_session_ids(part) for part in parts}
        text = b"\n".join(sorted(parts))
        if not _is_distinct(items, links):
            text += b"\n\n" + _QUERY.sub(b"", without_session_ids(body))
        return blake2b(text, digest_size=16, person=b"smartspider/list").digest()

    def _items(self, extraction: Extraction) -> Iterator[Item]:
        """Yield what the items have from the page, unless it is nothing."""
        rejected = (one.item for one in extraction.rejected)
        for item in (*extraction.items, *extraction.unemitted, *rejected):
            own = item
            if self._elsewhere:
                own = {name: value for name, value in item.items() if name not in self._elsewhere}
            if any(value not in EMPTY for value in own.values()):
                yield own


def _is_distinct(items: Iterable[Item], links: Iterable[bytes]) -> bool:
    """Return whether a page brings enough to tell it from others by that alone."""
    found = set(links)
    for item in items:
        if len(found) >= _BYTES:
            break
        found.update([_encode(value) for value in item.values() if value not in EMPTY])
    return len(found) >= _DISTINCT and sum(map(len, found)) >= _BYTES


def _links(extraction: Extraction) -> Iterator[bytes]:
    """Yield the links that lead away from the list."""
    further = {link.href for link in extraction.links if link.is_pagination}
    for link in extraction.links:
        if link.href not in further:
            body: Any = link.extras.body or b""
            yield link.href.encode(errors="replace") + b" " + body
