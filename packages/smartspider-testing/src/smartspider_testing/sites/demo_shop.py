"""The results of a correct crawl of the demo shop, computed from the catalogue without crawling."""

from __future__ import annotations

from smartspider.demo import api, catalogue, journal, pages
from smartspider.demo.catalogue import Product
from smartspider.demo.words import CATEGORIES

EXPECTED_ITEMS = len(CATEGORIES) * catalogue.PER_CATEGORY
"""Rows of the demo task: one per product."""
EXPECTED_MISSING = 1
"""Pages that answer 404."""
EXPECTED_REFUSED = len(pages.FORBIDDEN_PATHS)
"""Links that robots.txt disallows."""
EXPECTED_REDIRECTS = len(catalogue.MOVED_PRODUCTS)
"""Links that redirect to a product which is also linked directly."""
EXPECTED_RETRIES = len(catalogue.BUSY_PRODUCTS) + len(catalogue.BROKEN_PRODUCTS)
"""Failures that succeed on retry, in a newly started shop."""

API_PAGES = -(-EXPECTED_ITEMS // api.PAGE_SIZE)
"""Pages of each list of products at `/api`."""
FEED_PATHS = ("/journal/feed.xml", "/journal/atom.xml", "/journal/feed.json")
"""The journal as RSS, Atom and JSON Feed."""
EXPECTED_ARTICLES = journal.ARTICLES
"""Articles of the journal at `/journal`, newest first, and in each feed."""
TABLE_PATH = journal.TABLE_PATH
"""A page with one table: the cheapest product of each category."""


def expected_pages() -> frozenset[str]:
    """Return the canonical paths of all pages that the demo task gets with status 200."""
    lists = {pages.list_path(category.slug, page) for category in CATEGORIES for page in _list_numbers()}
    searches = {
        "/search?" + "&".join(sorted(f"{key}={value}" for key, value in query.items()))
        for category in CATEGORIES
        for query in pages.facet_queries(category.slug)
    }
    brands = {f"/brand/{slug}" for slug in catalogue.brands()}
    goods = {product.path for product in catalogue.products()}
    return frozenset({"/", "/about", "/brands"} | lists | searches | brands | goods)


def expected_rows(base_url: str) -> list[dict[str, object]]:
    """Return the rows of the demo task, by SKU."""
    return [_row(product, base_url.rstrip("/")) for product in catalogue.products()]


def _list_numbers() -> range:
    return range(1, catalogue.category_pages() + 1)


def _row(product: Product, base: str) -> dict[str, object]:
    category = next(category for category in CATEGORIES if category.slug == product.category)
    return {
        "sku": product.sku,
        "title": product.title,
        "price": product.price,
        "currency": product.currency,
        "rating": product.rating,
        "stock": str(product.stock),
        "brand": product.brand,
        "breadcrumbs": ["Home", category.title],
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
    """Return the SKUs of all products, or of one category, in list order."""
    goods = catalogue.products() if category is None else catalogue.in_category(category)
    return [product.sku for product in goods]


def expected_articles(base_url: str) -> list[dict[str, str]]:
    """Return the articles of the journal, newest first."""
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
    """Return the ids of the reviews at `/api/products/SKU/reviews`."""
    product = next(product for product in catalogue.products() if product.sku == sku)
    return [f"{sku}-{number}" for number in range(1, min(product.reviews, 3) + 1)]
