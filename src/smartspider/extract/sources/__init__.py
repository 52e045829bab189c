"""What a page says of itself, as plain JSON values: the rule types that need no selector.

One module a kind, imported when a rule first asks for it, and asked at most once a page.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from smartspider.core.errors import NotBuilt
from smartspider.core.page import Page
from smartspider.extract.cleaning import clean
from smartspider.extract.directives import directives_of
from smartspider.extract.document import Document

_READERS = {
    "json_ld": "json_ld:read_json_ld",
    "microdata": "microdata:read_microdata",
    "opengraph": "opengraph:read_opengraph",
    "state": "state:read_state",
    "feed": "feed:read_feed",
    "article": "article:read_article",
    "product": "product:read_product",
    "list": "listing:read_list",
    "tables": "tables:read_tables",
    "links": "links:read_links",
    "markdown": "markdown:read_markdown",
}
_ITEM_READERS = {
    "tables": "tables:read_tables",
    "links": "links:read_links",
    "markdown": "markdown:read_item_markdown",
}
_NEEDS = {"article": "trafilatura"}


def require_source(kind: str) -> None:
    """Raises `NotBuilt` when a source needs a package that is not installed."""
    package = _NEEDS.get(kind)
    if package is not None and find_spec(package) is None:
        raise NotBuilt(
            f"rules of type {kind!r} need the package {package}, which is not installed",
            hint="pip install 'smartspider[text]'",
        )


def read_source(kind: str, document: Document) -> Any:
    """What the page says in this form: plain JSON values, bounded, without foreign characters.

    Read once a page. A page that says nothing gives an empty list or object, or None where there would be one
    object. Raises `NotReadable` when the page is not HTML and the form needs it.
    """
    sources = document.sources
    if kind not in sources:
        value, stains = clean(_reader(_READERS[kind])(document))
        document.cleaned += stains
        sources[kind] = value
    return sources[kind]


def read_source_in(kind: str, html: str, document: Document) -> Any:
    """The tables, links or Markdown of one item of the page, given as HTML."""
    read = _reader(_ITEM_READERS[kind])
    item = Document(_page_of(html, document.page), document.request)
    item.directives = directives_of(document)
    value, stains = clean(read(item))
    document.cleaned += stains
    return value


def _reader(place: str) -> Callable[[Document], Any]:
    module, _, name = place.partition(":")
    reader: Callable[[Document], Any] = getattr(import_module(f"{__name__}.{module}"), name)
    return reader


def _page_of(html: str, page: Page) -> Page:
    return Page(
        url=page.url,
        status=page.status,
        headers={"content-type": "text/html"},
        body=html.encode(errors="surrogatepass"),
        charset="utf-8",
        fetched_at=page.fetched_at,
    )
