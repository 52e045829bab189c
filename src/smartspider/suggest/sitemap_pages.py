"""A task for a sitemap: one row per listed page, with the rules of a page that it lists."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from smartspider.core.errors import NotReadable
from smartspider.core.pages.extraction import Link
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import PagePlan
from smartspider.core.requests.request import make_request
from smartspider.core.requests.urls import normal_url
from smartspider.extract.links.sitemap import read_sitemap_page
from smartspider.suggest.draft_check import check_draft
from smartspider.suggest.next_page_check import FetchPage
from smartspider.suggest.suggestion import Draft, Suggestion

_PLAN = PagePlan("sitemap", kind="sitemap")
_ROOT = re.compile(rb"<(?:[\w.-]+:)?(?:urlset|sitemapindex)[\s>]", re.IGNORECASE)
_GZIP = b"\x1f\x8b"
_HEAD = 4096
_MOST_NESTED = 3
_PLAIN_RECORD: dict[str, Any] = {
    "url": {"type": "meta", "expr": "url"},
    "title": ["h1", "title"],
    "description": {"type": "opengraph", "expr": "description"},
    "image": {"type": "opengraph", "expr": "image"},
}
"""Fields that most pages have."""


def is_sitemap(page: Page) -> bool:
    """Return True if a page is a sitemap or an index of sitemaps."""
    if page.body.startswith(_GZIP):
        return bool(_entries(page))
    return _ROOT.search(page.body, 0, _HEAD) is not None


async def find_sample_page(page: Page, fetch: FetchPage) -> Page:
    """Fetch a page that a sitemap lists, and the sitemaps on the way to it; raise `NotReadable`."""
    for _ in range(_MOST_NESTED):
        entries = _entries(page)
        url = normal_url(entries[len(entries) // 2].href, page.url) if entries else None
        if url is None:
            raise NotReadable(f"the sitemap {page.url} lists no page")
        page = await fetch(url)
        if page.status >= 400:
            raise NotReadable(f"{url}, which the sitemap lists, answers with status {page.status}")
        if not is_sitemap(page):
            return page
    raise NotReadable(f"the sitemaps are nested more than {_MOST_NESTED} times")


def sitemap_suggestions(
    page: Page, sample: Page, suggestions: list[Suggestion], name: str
) -> list[Suggestion]:
    """Return suggestions for the pages of a sitemap, with the rules for a sample of them."""
    records = [one for one in suggestions if one.kind == "page"]
    plain = check_draft(sample, Draft("page", None, _PLAIN_RECORD, 1.0, ("fields of most pages",)), name)
    count = len(_entries(page))
    return [
        msgspec.structs.replace(
            one,
            kind="sitemap",
            count=count,
            sitemap=page.url,
            entry=sample.url,
            score=one.completeness,
            reasons=(f"a sitemap with {count} entries; the rules are from {sample.url}", *one.reasons),
        )
        for one in [*records[:1], *([plain] if plain is not None else [])]
    ]


def _entries(page: Page) -> list[Link]:
    """Return the entries of a sitemap; none if it is not one."""
    try:
        return list(read_sitemap_page(_PLAN, page, make_request(page.url)).links)
    except NotReadable:
        return []
