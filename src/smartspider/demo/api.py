"""The JSON API of the shop: the same list of products with every kind of pagination."""

from __future__ import annotations

import base64
import binascii
import re

from smartspider.demo import catalogue
from smartspider.demo.catalogue import Product

PAGE_SIZE = 20
MAX_SIZE = 100
_FIELD = re.compile(r"\bproducts\s*\(")


def row(product: Product) -> dict[str, object]:
    """Return a product as in a list."""
    return {
        "sku": product.sku,
        "title": product.title,
        "brand": product.brand,
        "category": product.category,
        "price": product.price,
        "currency": product.currency,
        "rating": float(product.rating),
        "stock": product.stock,
        "url": product.path,
    }


def by_page(page: int) -> dict[str, object]:
    """Return one page of the list, with the URL of the next."""
    goods = catalogue.products()
    last = -(-len(goods) // PAGE_SIZE)
    first = (page - 1) * PAGE_SIZE
    return {
        "page": page,
        "pages": last,
        "total": len(goods),
        "next": f"/api/products?page={page + 1}" if page < last else None,
        "items": [row(product) for product in goods[first : first + PAGE_SIZE]],
    }


def by_offset(offset: int, limit: int) -> dict[str, object]:
    """Return a slice of the list."""
    goods = catalogue.products()[offset : offset + min(limit, MAX_SIZE)]
    return {"total": len(catalogue.products()), "items": [row(product) for product in goods]}


def by_cursor(cursor: str | None, query: dict[str, str] | None = None) -> dict[str, object] | None:
    """Return a part of the search results with the next cursor; None for an unknown cursor."""
    start = 0 if cursor is None else _place(cursor)
    if start is None:
        return None
    goods = catalogue.search(query or {})
    end = start + PAGE_SIZE
    more = _cursor(end) if end < len(goods) else None
    return {"items": [row(product) for product in goods[start:end]], "meta": {"next": more}}


def link_header(page: int) -> str:
    """Return the Link header of a page of the list."""
    last = -(-len(catalogue.products()) // PAGE_SIZE)
    links = [f'</api/by-link?page={last}>; rel="last"']
    if page < last:
        links.insert(0, f'<?page={page + 1}>; title="more, further on"; rel="next"')
    return ", ".join(links)


def detail(product: Product) -> dict[str, object]:
    """Return a product with all its data and the URL of its reviews."""
    return {
        **row(product),
        "description": product.description,
        "specs": product.specs,
        "reviews": {"count": product.reviews, "href": f"/api/products/{product.sku}/reviews"},
    }


def reviews(product: Product) -> dict[str, object]:
    """Return the first reviews of a product."""
    stars = float(product.rating)
    return {
        "sku": product.sku,
        "items": [
            {"id": f"{product.sku}-{number}", "stars": round(max(1.0, stars - number * 0.5), 1)}
            for number in range(1, min(product.reviews, 3) + 1)
        ],
    }


def graphql(asked: object) -> dict[str, object]:
    """Answer the one supported query: `products(first, after, category)`."""
    query = asked.get("query") if isinstance(asked, dict) else None
    if not isinstance(asked, dict) or not isinstance(query, str) or not _FIELD.search(query):
        return {"errors": [{"message": "only products(first, after, category) is supported"}]}
    given = asked.get("variables")
    variables = given if isinstance(given, dict) else {}
    category, after, first = (variables.get(name) for name in ("category", "after", "first"))
    goods = catalogue.search({"category": category} if isinstance(category, str) else {})
    start = _place(after) if isinstance(after, str) else 0
    if start is None:
        return {"errors": [{"message": "the cursor is not ours"}]}
    end = start + (first if isinstance(first, int) and 0 < first <= MAX_SIZE else PAGE_SIZE)
    page_info = {"endCursor": _cursor(end) if end < len(goods) else None, "hasNextPage": end < len(goods)}
    nodes = [row(product) for product in goods[start:end]]
    return {"data": {"products": {"nodes": nodes, "pageInfo": page_info}}}


def _cursor(place: int) -> str:
    return base64.urlsafe_b64encode(f"place/{place}".encode()).decode()


def _place(cursor: str) -> int | None:
    try:
        word, _, number = base64.urlsafe_b64decode(cursor.encode()).decode().partition("/")
    except (binascii.Error, ValueError):
        return None
    return int(number) if word == "place" and number.isascii() and number.isdigit() else None
