"""What the shop offers to programs: robots.txt, sitemaps and a JSON list."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from html import escape

from smartspider.demo import catalogue, pages
from smartspider.demo.words import SHELVES

API_PAGE_SIZE = 20
_SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def robots(base: str) -> str:
    """The rules for crawlers."""
    return f"User-agent: *\nDisallow: /private/\nDisallow: /cart\n\nSitemap: {base}/sitemap.xml\n"


def sitemap_index(base: str) -> str:
    """The sitemap of sitemaps."""
    entries = "".join(
        f"<sitemap><loc>{escape(base)}{path}</loc></sitemap>"
        for path in ("/sitemaps/pages.xml", "/sitemaps/products.xml.gz")
    )
    return _xml(f'<sitemapindex xmlns="{_SITEMAP_NAMESPACE}">{entries}</sitemapindex>')


def page_sitemap(base: str) -> str:
    """Everything but products."""
    lists = [pages.list_path(shelf.slug, page) for shelf in SHELVES for page in _list_numbers()]
    brands = [f"/brand/{slug}" for slug in catalogue.brands()]
    return _sitemap(base, ["/", "/about", "/brands", *lists, *brands])


def product_sitemap(base: str) -> bytes:
    """All products, compressed; the same bytes each time."""
    text = _sitemap(base, (product.path for product in catalogue.products()))
    return gzip.compress(text.encode(), mtime=0)


def _list_numbers() -> range:
    return range(1, catalogue.shelf_pages() + 1)


def _sitemap(base: str, paths: Iterable[str]) -> str:
    entries = "".join(f"<url><loc>{escape(base + path)}</loc></url>" for path in paths)
    return _xml(f'<urlset xmlns="{_SITEMAP_NAMESPACE}">{entries}</urlset>')


def _xml(root: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n'


def product_list(page: int) -> dict[str, object]:
    """One page of the JSON list."""
    goods = catalogue.products()
    last = -(-len(goods) // API_PAGE_SIZE)
    first = (page - 1) * API_PAGE_SIZE
    return {
        "page": page,
        "pages": last,
        "total": len(goods),
        "next": f"/api/products?page={page + 1}" if page < last else None,
        "items": [_row(product) for product in goods[first : first + API_PAGE_SIZE]],
    }


def _row(product: catalogue.Product) -> dict[str, object]:
    return {
        "sku": product.sku,
        "title": product.title,
        "brand": product.brand,
        "category": product.shelf,
        "price": product.price,
        "currency": product.currency,
        "rating": float(product.rating),
        "stock": product.stock,
        "url": product.path,
    }
