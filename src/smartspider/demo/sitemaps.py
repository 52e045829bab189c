"""The robots.txt and sitemaps of the shop."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from html import escape

from smartspider.demo import catalogue, pages
from smartspider.demo.words import CATEGORIES

_SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def robots(base: str) -> str:
    """Return robots.txt."""
    return f"User-agent: *\nDisallow: /private/\nDisallow: /cart\n\nSitemap: {base}/sitemap.xml\n"


def sitemap_index(base: str) -> str:
    """Return the sitemap index."""
    entries = "".join(
        f"<sitemap><loc>{escape(base)}{path}</loc></sitemap>"
        for path in ("/sitemaps/pages.xml", "/sitemaps/products.xml.gz")
    )
    return _xml(f'<sitemapindex xmlns="{_SITEMAP_NAMESPACE}">{entries}</sitemapindex>')


def page_sitemap(base: str) -> str:
    """Return the sitemap of all pages but products."""
    lists = [pages.list_path(category.slug, page) for category in CATEGORIES for page in _list_numbers()]
    brands = [f"/brand/{slug}" for slug in catalogue.brands()]
    return _sitemap(base, ["/", "/about", "/brands", *lists, *brands])


def product_sitemap(base: str) -> bytes:
    """Return the compressed sitemap of all products; the same bytes each time."""
    text = _sitemap(base, (product.path for product in catalogue.products()))
    return gzip.compress(text.encode(), mtime=0)


def _list_numbers() -> range:
    return range(1, catalogue.category_pages() + 1)


def _sitemap(base: str, paths: Iterable[str]) -> str:
    entries = "".join(f"<url><loc>{escape(base + path)}</loc></url>" for path in paths)
    return _xml(f'<urlset xmlns="{_SITEMAP_NAMESPACE}">{entries}</urlset>')


def _xml(root: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n'
