"""Sources: rule types that need no selector. They read data that a page carries, as JSON values.

Each is listed in `plugins/kinds.py`, imported on first use, and read at most once per page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from smartspider.core.pages.page import Page
from smartspider.extract.parsing.decoding import clean
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import directives_of
from smartspider.plugins.kinds import SOURCE
from smartspider.plugins.registry import resolve


def require_source(kind: str) -> None:
    """Raise `NotBuilt` if a source needs a package that is not installed."""
    resolve(SOURCE, kind)


def read_source(kind: str, document: Document) -> Any:
    """Return the data of a source: JSON values, bounded, without invalid characters.

    Read once per page. A page without such data gives an empty list or object, or None for a single
    object. Raise `NotReadable` if the source needs HTML and the page is not.
    """
    sources = document.sources
    if kind not in sources:
        value, cleaned = clean(_reader(kind)(document))
        document.cleaned += cleaned
        sources[kind] = value
    return sources[kind]


def read_source_in(kind: str, html: str, document: Document) -> Any:
    """Return the tables, links or Markdown of one item of the page, given as HTML."""
    item = Document(_page_of(html, document.page), document.request, is_item=True)
    item.directives = directives_of(document)
    value, cleaned = clean(_reader(kind)(item))
    document.cleaned += cleaned
    return value


@cache
def _reader(kind: str) -> Callable[[Document], Any]:
    return resolve(SOURCE, kind)


def _page_of(html: str, page: Page) -> Page:
    return Page(
        url=page.url,
        status=page.status,
        headers={"content-type": "text/html"},
        body=html.encode(errors="surrogatepass"),
        charset="utf-8",
        fetched_at=page.fetched_at,
    )
