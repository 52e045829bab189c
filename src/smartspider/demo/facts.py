"""What a correct crawl of the shop finds, computed from the catalogue and not by crawling."""

from __future__ import annotations

from smartspider.demo import catalogue, pages
from smartspider.demo.catalogue import Product
from smartspider.demo.words import SHELVES

EXPECTED_ITEMS = len(SHELVES) * catalogue.PER_SHELF
"""Rows of the demo task: one per product."""
EXPECTED_MISSING = 1
"""Pages that answer 404."""
EXPECTED_REFUSED = len(pages.FORBIDDEN_PATHS)
"""Links that robots.txt forbids."""
EXPECTED_REDIRECTS = len(catalogue.MOVED_PRODUCTS)
"""Links that are redirected to a product which is linked elsewhere too."""
EXPECTED_RETRIES = len(catalogue.BUSY_PRODUCTS) + len(catalogue.BROKEN_PRODUCTS)
"""Failed answers that a later one makes good, in a shop that was just started."""


def expected_pages() -> frozenset[str]:
    """Canonical paths of all pages the demo task gets with status 200."""
    lists = {pages.list_path(shelf.slug, page) for shelf in SHELVES for page in _list_numbers()}
    searches = {
        "/search?" + "&".join(sorted(f"{key}={value}" for key, value in query.items()))
        for shelf in SHELVES
        for query in pages.facet_queries(shelf.slug)
    }
    brands = {f"/brand/{slug}" for slug in catalogue.brands()}
    goods = {product.path for product in catalogue.products()}
    return frozenset({"/", "/about", "/brands"} | lists | searches | brands | goods)


def expected_rows(base_url: str) -> list[dict[str, object]]:
    """The rows of the demo task, by article number."""
    return [_row(product, base_url.rstrip("/")) for product in catalogue.products()]


def _list_numbers() -> range:
    return range(1, catalogue.shelf_pages() + 1)


def _row(product: Product, base: str) -> dict[str, object]:
    shelf = next(shelf for shelf in SHELVES if shelf.slug == product.shelf)
    return {
        "sku": product.sku,
        "title": product.title,
        "price": product.price,
        "currency": product.currency,
        "rating": product.rating,
        "stock": str(product.stock),
        "brand": product.brand,
        "breadcrumbs": ["Home", shelf.title],
        "colours": ", ".join(product.colours),
        "specs": {
            "material": product.specs["Material"],
            "made_in": product.specs["Made in"],
            "weight": product.specs["Weight"],
        },
        "description": product.description,
        "image_alt": product.image_alt,
        "related": [f"{other.path}?utm_source=related" for other in catalogue.related_to(product)],
        "url": f"{base}{product.path}",
        "status": 200,
        "shop": "Lantern Lane",
    }
