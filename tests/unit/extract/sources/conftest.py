"""One page, asked what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.extract.parsing.document import Document
from smartspider.extract.sources import read_source, read_source_in

URL = "https://shop.example/a/page.html"

Read = Callable[..., Any]


def _document(
    body: str | bytes, content_type: str = "text/html", charset: str = "utf-8", url: str = URL
) -> Document:
    page = Page(
        url=url,
        status=200,
        headers={"content-type": content_type},
        body=body if isinstance(body, bytes) else body.encode(charset),
        charset=charset,
        fetched_at=1_700_000_000.0,
    )
    return Document(page, make_request(url))


@pytest.fixture
def document() -> Callable[..., Document]:
    """Makes a document of a page."""
    return _document


@pytest.fixture
def said() -> Read:
    """What a page says in one form."""

    def read(kind: str, body: str | bytes, **page: Any) -> Any:
        return read_source(kind, _document(body, **page))

    return read


@pytest.fixture
def said_in() -> Read:
    """What an item of a page says in one form."""

    def read(kind: str, html: str, page: str = "<p>") -> Any:
        return read_source_in(kind, html, _document(page))

    return read
