"""The list of a page, from its data for search engines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of
from smartspider.extract.sources import read_source
from smartspider.extract.sources.schema_org.product import PRODUCTS, find_products, normalize_product
from smartspider.extract.sources.schema_org.things import Thing, ThingGraph, number, text, types_of
from smartspider.extract.sources.values import to_absolute_url

_LISTS = frozenset({"ItemList", "OfferCatalog", "HowToSection"})
_MOST = 10_000
_MOST_LOOKED_AT = 20_000
_HOLDERS = ("mainEntity", "mainEntityOfPage", "hasPart", "about", "hasOfferCatalog")
_FROM_PRODUCT = ("price", "currency", "availability", "rating", "reviews")


def read_list(document: Document) -> list[Thing]:
    """Return the entries of the longest list, else several products, else the breadcrumbs.

    JSON-LD comes before microdata. Every entry has the same keys, null if unknown.
    """
    base = base_of(document)
    described = [ThingGraph(read_source(kind, document)) for kind in ("json_ld", "microdata")]
    for things in described:
        entries = max(
            (_entries(found, things, base) for found in _lists(things, _LISTS)), key=len, default=[]
        )
        if entries:
            return entries
    for things in described:
        products = find_products(things)[:_MOST]
        if len(products) > 1:
            return [_entry(place, {}, product, things, base) for place, product in enumerate(products, 1)]
    for things in described:
        for found in _lists(things, frozenset({"BreadcrumbList"})):
            entries = _entries(found, things, base)
            if entries:
                return entries
    return []


def _lists(things: ThingGraph, kinds: frozenset[str]) -> Iterator[Thing]:
    waiting = list(reversed(things.things))
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_LOOKED_AT:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if types_of(thing) & kinds:
            yield thing
        for key in (*_HOLDERS, "breadcrumb"):
            if isinstance(thing.get(key), dict | list):
                waiting += [inner for inner in things.objects(thing[key]) if "@type" in inner]


def _entries(found: Thing, things: ThingGraph, base: str) -> list[Thing]:
    value = found.get("itemListElement")
    if value is None:
        value = found.get("itemListElements")
    entries: list[Thing] = []
    seen: set[int] = set()
    for place, element in enumerate(islice(things.each(value), _MOST), 1):
        if isinstance(element, dict):
            item = things.first(element.get("item"))
            about = item if isinstance(item, dict) else {"url": item} if isinstance(item, str) else {}
            # Count many references to one object as one entry: a page could have any number of them.
            if id(about or element) not in seen:
                seen.add(id(about or element))
                entries.append(_entry(place, element, about, things, base))
        elif isinstance(element, str):
            is_address = element.startswith(("http://", "https://", "/"))
            entries.append(_entry(place, {"url" if is_address else "name": element}, {}, things, base))
    return [entry for entry in entries if entry["name"] is not None or entry["url"] is not None]


def _entry(place: int, element: Thing, about: Thing, things: ThingGraph, base: str) -> Thing:
    """Return one entry: the list's data about it, and its own."""
    thing = about or element
    position = number(element.get("position"))
    entry: Thing = {
        "position": int(position) if position is not None else place,
        "type": next(iter(sorted(types_of(thing) - {"ListItem"})), None),
        "name": _first_text(element, about, "name", "headline"),
        "url": _first_url(things, base, element.get("url"), about.get("url"), about.get("@id")),
        "image": things.image(element.get("image"), base) or things.image(about.get("image"), base),
        "description": _first_text(element, about, "description"),
    }
    product: Thing = normalize_product(thing, things, base) if types_of(thing) & PRODUCTS else {}
    return entry | {key: product.get(key) for key in _FROM_PRODUCT}


def _first_text(element: Thing, about: Thing, *keys: str) -> str | None:
    for key in keys:
        found = text(element.get(key)) or text(about.get(key))
        if found is not None:
            return found
    return None


def _first_url(things: ThingGraph, base: str, *values: Any) -> str | None:
    for value in values:
        found = to_absolute_url(things.first(value), base)
        if found is not None:
            return found
    return None
