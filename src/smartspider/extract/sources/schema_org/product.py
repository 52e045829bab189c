"""The product of a page, from its data for search engines."""

from __future__ import annotations

from itertools import islice
from typing import Any

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of
from smartspider.extract.sources import read_source
from smartspider.extract.sources.opengraph import first_text
from smartspider.extract.sources.schema_org.things import Thing, ThingGraph, last_word, number, text, types_of
from smartspider.extract.sources.values import to_absolute_url

PRODUCTS = frozenset(
    {"Product", "ProductGroup", "IndividualProduct", "ProductModel", "SomeProducts", "Vehicle", "Car"}
)
_KEYS = (
    "name", "brand", "sku", "gtin", "price", "currency", "availability", "condition", "rating", "reviews",
    "image", "description", "url", "category",
)  # fmt: skip
_GTINS = ("gtin", "gtin13", "gtin14", "gtin12", "gtin8", "isbn", "ean")
_MOST_OFFERS = 50
_NOT_THE_PRICE = frozenset({"ListPrice", "StrikethroughPrice", "SRP", "MSRP", "RegularPrice"})


def read_product(document: Document) -> Thing | None:
    """Return one object with the same keys on every site, null if unknown; None if there is no product.

    JSON-LD comes first, then microdata; OpenGraph fills in what is missing.
    """
    base = base_of(document)
    found = [
        product
        for kind in ("json_ld", "microdata")
        if (product := _described(ThingGraph(read_source(kind, document)), base)) is not None
    ]
    graph = read_source("opengraph", document)
    if found or _is_product(graph):
        found.append(_from_opengraph(graph, base))
    if not found:
        return None
    product = found[0]
    for other in found[1:]:
        if other["name"] in {None, product["name"]} or other is found[-1]:
            product = {key: product[key] if product[key] is not None else other[key] for key in _KEYS}
    return product | {"url": product["url"] or document.page.url}


def _described(things: ThingGraph, base: str) -> Thing | None:
    products = find_products(things)
    priced = next((thing for thing in products if thing.get("offers") or thing.get("hasVariant")), None)
    chosen = priced or (products[0] if products else None)
    return normalize_product(chosen, things, base) if chosen is not None else None


def find_products(things: ThingGraph) -> list[Thing]:
    """Return the products among the objects, including those that a page or an item is about."""
    found: dict[int, Thing] = {}
    for thing in things.things:
        for candidate in (
            thing,
            *things.objects(thing.get("mainEntity")),
            *things.objects(thing.get("about")),
        ):
            if types_of(candidate) & PRODUCTS:
                found.setdefault(id(candidate), candidate)
    return list(found.values())


def normalize_product(thing: Thing, things: ThingGraph, base: str) -> Thing:
    """Convert a schema.org product to our keys."""
    variant: Thing = next(things.objects(thing.get("hasVariant")), {})
    offer, price = _offer(thing.get("offers") or variant.get("offers"), things)
    rating: Thing = next(things.objects(thing.get("aggregateRating")), {})
    gtin = next((found for key in _GTINS if (found := text(thing.get(key) or variant.get(key)))), None)
    return {
        "name": text(thing.get("name")) or text(variant.get("name")),
        "brand": things.name(thing.get("brand")) or things.name(thing.get("manufacturer")),
        "sku": text(thing.get("sku")) or text(variant.get("sku")) or text(thing.get("productID")),
        "gtin": gtin,
        "price": number(price.get("price") if price.get("price") is not None else price.get("lowPrice")),
        "currency": text(price.get("priceCurrency") or offer.get("priceCurrency")),
        "availability": last_word(offer.get("availability")),
        "condition": last_word(offer.get("itemCondition") or thing.get("itemCondition")),
        "rating": number(rating.get("ratingValue")),
        "reviews": _count(rating),
        "image": things.image(thing.get("image") or variant.get("image"), base),
        "description": text(thing.get("description")),
        "url": to_absolute_url(things.first(thing.get("url") or offer.get("url")), base),
        "category": things.name(thing.get("category")),
    }


def _offer(value: Any, things: ThingGraph) -> tuple[Thing, Thing]:
    """Return the first offer with a price, and the object that has the price."""
    offers = [
        inner
        for offer in islice(things.objects(value), _MOST_OFFERS)
        for inner in (offer, *islice(things.objects(offer.get("offers")), _MOST_OFFERS))
    ]
    for offer in offers:
        if _has_price(offer):
            return offer, offer
        for specification in islice(things.objects(offer.get("priceSpecification")), _MOST_OFFERS):
            if _has_price(specification) and last_word(specification.get("priceType")) not in _NOT_THE_PRICE:
                return offer, specification
    return (offers[0], {}) if offers else ({}, {})


def _has_price(thing: Thing) -> bool:
    return number(thing.get("price")) is not None or number(thing.get("lowPrice")) is not None


def _count(rating: Thing) -> int | None:
    for key in ("reviewCount", "ratingCount"):
        found = number(rating.get(key))
        if found is not None:
            return int(found)
    return None


def _is_product(graph: Thing) -> bool:
    kind = (first_text(graph.get("type")) or "").lower()
    return "product" in graph or kind == "product" or kind.endswith((".product", ":product"))


def _from_opengraph(graph: Thing, base: str) -> Thing:
    inner = graph.get("product")
    own: Thing = inner if isinstance(inner, dict) else {}

    def first(*keys: str) -> str | None:
        places = [(own, key) for key in keys] + [(graph, key) for key in keys if key.startswith("price_")]
        return next((found for place, key in places if (found := first_text(place.get(key)))), None)

    availability = first("availability") or first_text(graph.get("availability"))
    return dict.fromkeys(_KEYS) | {
        "name": first_text(graph.get("title")),
        "brand": first("brand"),
        "sku": first("retailer_item_id", "sku"),
        "gtin": first("gtin", "ean", "upc", "isbn"),
        "price": number(first("sale_price_amount", "price_amount")),
        "currency": first("sale_price_currency", "price_currency"),
        "availability": last_word(availability),
        "condition": first("condition"),
        "image": to_absolute_url(first_text(graph.get("image")), base),
        "description": first_text(graph.get("description")),
        "url": to_absolute_url(first_text(graph.get("url")), base),
        "category": first("category"),
    }
