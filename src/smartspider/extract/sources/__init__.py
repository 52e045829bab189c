"""Sources: rule types that need no selector. They read data that a page carries, as JSON values.

Each is listed in `plugins/kinds.py`, imported on first use, and read at most once per page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from smartspider.core.errors import NotReadable
from smartspider.core.functions import (
    CRASHES,
    error_text,
    parse_function,
    pass_interrupt,
    printing_apart,
    short_name,
)
from smartspider.core.items.json_value import NotJson, json_value
from smartspider.core.pages.page import Page
from smartspider.extract.parsing.decoding import clean
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import directives_of
from smartspider.interfaces.step import ValueRejected
from smartspider.plugins.function_files import load_function
from smartspider.plugins.kinds import SOURCE
from smartspider.plugins.registry import resolve


def require_source(kind: str) -> None:
    """Raise `NotBuilt` if a source needs a package that is not installed, or a function cannot be loaded."""
    _find_reader(kind)


def read_source(kind: str, document: Document) -> Any:
    """Return the data of a source: JSON values, bounded, without invalid characters.

    Read once per page. A page without such data gives an empty list or object, or None for a single
    object. Raise `NotReadable` if the source needs HTML and the page is not, and `ValueRejected` if a
    function returns what cannot be stored.
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
    return _find_reader(kind)


def _find_reader(kind: str) -> Callable[[Document], Any]:
    return resolve(SOURCE, kind) if parse_function(kind) is None else _function_reader(kind)


def _function_reader(kind: str) -> Callable[[Document], Any]:
    """Return the reader of a function, whose results become JSON values. Raise `NotBuilt`.

    The reader raises `ValueRejected` for a result that cannot be stored.
    """
    function = load_function(kind)

    def read(document: Document) -> Any:
        try:
            with printing_apart():
                return json_value(function(document))
        except NotJson as error:
            raise ValueRejected(short_name(kind), f"became {error}", None) from error
        except CRASHES as error:
            pass_interrupt(error)
            if isinstance(error, Exception):
                raise
            raise NotReadable(f"{short_name(kind)} raised {error_text(error)}") from error

    return read


def _page_of(html: str, page: Page) -> Page:
    return Page(
        url=page.url,
        status=page.status,
        headers={"content-type": "text/html"},
        body=html.encode(errors="surrogatepass"),
        charset="utf-8",
        fetched_at=page.fetched_at,
    )
