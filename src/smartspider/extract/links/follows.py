"""Turn matches of a follow rule into links: fill templates, carry fields of the item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from smartspider.core.pages.extraction import Item, Link
from smartspider.core.pages.rules import FollowRequest, FollowRule
from smartspider.core.requests.bodies import FORM, JSON, json_body, media_type_of, with_content_type
from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.request import NO_EXTRAS, Extras, variant_of
from smartspider.core.requests.request_headers import without_secrets
from smartspider.core.requests.templates import (
    fill_body,
    fill_form,
    fill_header,
    fill_json_body,
    fill_text,
    fill_url,
)
from smartspider.extract.links.link_limit import LINK_NOFOLLOW
from smartspider.extract.parsing.link_markup import NofollowHref

CARRIED_BYTES = 64_000
"""The most bytes that one link carries, as JSON."""
CARRIED_BYTES_OF_A_PAGE = 16_000_000
"""The most bytes that all links of a page carry."""


class FoundLink(NamedTuple):
    """A matched value, and the number of its item (None: the page).

    `item` counts all items of the page, including rejected ones.
    """

    value: Any
    """A text, or a number from JSON."""
    item: int | None = None


class ExtractedLinks(NamedTuple):
    """The links of a page; how many were dropped; how many lost their carried fields because of the size."""

    links: list[Link]
    dropped: int = 0
    carries_dropped: int = 0
    refusal: Refusal | None = None
    """Why the page asks to follow none of them."""


def make_links(
    follow: FollowRule, found: Sequence[FoundLink], items: Sequence[Item | None]
) -> ExtractedLinks:
    """Return a link for each match, in order."""
    rest = (follow.to, follow.priority, False, follow.max_depth, follow.allow, follow.deny)
    carried = _CarriedFields(follow.carry, items)
    links = []
    for each in found:
        is_nofollow = type(each.value) is NofollowHref
        value = str(each.value) if is_nofollow else each.value
        href, extras = _request(follow.request, value, _item(items, each.item) or {})
        meta = carried.of(each.item) if follow.carry and not is_nofollow else {}
        if meta:
            extras = msgspec.structs.replace(extras, meta=meta)
        links.append(Link(href, *rest, extras, refusal=LINK_NOFOLLOW if is_nofollow else None))
    return ExtractedLinks(links, carries_dropped=carried.dropped)


class _CarriedFields:
    """The fields that links of a page carry; links of one item share them."""

    def __init__(self, fields: tuple[str, ...], items: Sequence[Item | None]) -> None:
        self._fields = fields
        self._items = items
        self._by_item: dict[int | None, tuple[dict[str, Any], int]] = {}
        self._budget = CARRIED_BYTES_OF_A_PAGE
        self.dropped = 0

    def of(self, number: int | None) -> dict[str, Any]:
        if number not in self._by_item:
            self._by_item[number] = self._select(_item(self._items, number))
        fields, size = self._by_item[number]
        if size > min(CARRIED_BYTES, self._budget):
            self.dropped += 1
            return {}
        self._budget -= size
        return fields

    def _select(self, item: Item | None) -> tuple[dict[str, Any], int]:
        carried = {} if item is None else {field: item.get(field) for field in self._fields}
        return carried, len(json_body(carried))


def _item(items: Sequence[Item | None], number: int | None) -> Item | None:
    if number is None:
        return items[0] if len(items) == 1 else None
    return items[number] if number < len(items) else None


def _request(template: FollowRequest | None, value: Any, item: Item) -> tuple[str, Extras]:
    if template is None:
        return _href(value), NO_EXTRAS
    values: Mapping[str, Any] = {**template.variables, **item, "value": value}
    href = _href(value) if template.url is None else fill_url(template.url, values)
    headers = tuple((name, fill_header(text, values)) for name, text in template.headers)
    variant = _variant(headers)
    if template.body is None:
        return href, Extras(template.method, headers, variant=variant)
    if not isinstance(template.body, str):
        body = json_body(fill_json_body(template.body, values))
        return href, Extras(template.method, with_content_type(JSON, headers), body, variant=variant)
    fill = fill_form if media_type_of(headers) == FORM else fill_body
    body = fill(template.body, values).encode(errors="replace")
    return href, Extras(template.method, headers, body, variant=variant)


def _variant(headers: tuple[tuple[str, str], ...]) -> str:
    """Return the variant of a link whose request names headers, such as a language. Tokens and the page that
    links to it change from page to page, and tell no requests apart.
    """
    named = tuple(header for header in without_secrets(headers) if header[0].lower() != "referer")
    return variant_of(named) if named else ""


def _href(value: Any) -> str:
    return value if isinstance(value, str) else fill_text("{0}", {"0": value})
