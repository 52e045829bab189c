"""What a correct crawl of the shop finds, computed from the catalogue and not by crawling."""

from __future__ import annotations

from smartspider.demo import api, catalogue, journal, pages
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

API_PATHS = ("/api/products", "/api/by-offset", "/api/by-cursor", "/api/by-link")
"""Lists of all products as JSON, 20 a page: by number, by offset and limit, by cursor (`meta.next`), and by
Link header. `POST /api/search` takes `{q, category, cursor}`, `POST /graphql` takes
`products(first, after, category)`."""
API_PAGES = -(-EXPECTED_ITEMS // api.PAGE_SIZE)
"""Pages that each of these lists has."""
FEED_PATHS = ("/journal/feed.xml", "/journal/atom.xml", "/journal/feed.json")
"""The journal as RSS, Atom and JSON Feed."""
EXPECTED_ARTICLES = journal.ARTICLES
"""Articles of the journal at `/journal`, newest first, and in each feed."""
TABLE_PATH = journal.TABLE_PATH
"""A page with one table: the cheapest product of each category."""


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


def expected_skus(category: str | None = None) -> list[str]:
    """Article numbers of all products, or of one category, in the order of the lists."""
    goods = catalogue.products() if category is None else catalogue.on_shelf(category)
    return [product.sku for product in goods]


def expected_articles(base_url: str) -> list[dict[str, str]]:
    """The articles of the journal, newest first."""
    base = base_url.rstrip("/")
    return [
        {
            "title": article.title,
            "author": article.author,
            "published": article.published.isoformat(),
            "url": f"{base}{article.path}",
            "product": article.product.sku,
        }
        for article in journal.articles()
    ]


def expected_reviews(sku: str) -> list[str]:
    """Ids of the reviews that `/api/products/SKU/reviews` lists."""
    product = next(product for product in catalogue.products() if product.sku == sku)
    return [f"{sku}-{number}" for number in range(1, min(product.reviews, 3) + 1)]
