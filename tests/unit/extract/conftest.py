"""One page read by one page type, as the engine would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from smartspider.core.extraction import Extraction
from smartspider.core.page import Page
from smartspider.core.request import Extras, make_request
from smartspider.core.rules import FieldRule, Follow, NextLink, PagePlan, Rule
from smartspider.core.traps import TrapGuards
from smartspider.extract.compile import compile_pages

URL = "http://shop.example/list"


def _read(
    html: str | bytes,
    *,
    fields: dict[str, FieldRule] | None = None,
    items: str | None = None,
    follow: tuple[Follow, ...] = (),
    next_link: str | None = None,
    content_type: str | None = "text/html",
    charset: str = "utf-8",
    url: str = URL,
    meta: dict[str, Any] | None = None,
    parent: str | None = None,
    max_links: int = 50_000,
) -> Extraction:
    plan = PagePlan(
        "default",
        items=Rule("css", items) if items is not None else None,
        fields=fields or {},
        follow=follow,
        pagination=NextLink(Rule("css", next_link)) if next_link is not None else None,
    )
    extractor = compile_pages({"default": plan}, TrapGuards(max_links_per_page=max_links))
    page = Page(
        url=url,
        status=200,
        headers={"content-type": content_type} if content_type is not None else {},
        body=html if isinstance(html, bytes) else html.encode(),
        charset=charset,
        fetched_at=1_700_000_000.0,
    )
    request = make_request(URL, depth=2, extras=Extras(meta=meta or {}))
    return extractor.extract(page, msgspec.structs.replace(request, parent=parent))


@pytest.fixture
def read() -> Callable[..., Extraction]:
    """Reads a page and gives its extraction."""
    return _read


@pytest.fixture
def value() -> Callable[..., Any]:
    """Reads one field; with `items` of the first item."""

    def first_value(html: str | bytes, expr: Any, *, items: str | None = None, **rule: Any) -> Any:
        field = Rule(rule.pop("type", "css"), expr, **rule)
        return _read(html, fields={"x": field}, items=items).items[0]["x"]

    return first_value
