"""One page read by one page type, as the engine would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import FieldRule, FollowRule, NextLinkPagination, PagePlan, ValueRule
from smartspider.core.requests.request import Extras, make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages
from smartspider.interfaces.step import StepChainCompiler

URL = "http://shop.example/list"


Items = str | ValueRule | tuple[ValueRule, ...] | None


def _read(
    html: str | bytes,
    *,
    fields: dict[str, FieldRule] | None = None,
    items: Items = None,
    follow: tuple[FollowRule, ...] = (),
    next_link: str | ValueRule | None = None,
    content_type: str | None = "text/html",
    charset: str = "utf-8",
    url: str = URL,
    meta: dict[str, Any] | None = None,
    parent: str | None = None,
    max_links: int = 50_000,
    rule_steps: StepChainCompiler | None = None,
    **plan_keys: Any,
) -> Extraction:
    plan = PagePlan(
        "default",
        items=_rules(items),
        fields=fields or {},
        follow=follow,
        pagination=NextLinkPagination(*_rules(next_link)) if next_link is not None else None,
    )
    plan = msgspec.structs.replace(plan, **plan_keys)
    extractor = compile_pages({"default": plan}, TrapGuards(max_links_per_page=max_links), rule_steps)
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


def _rules(rules: Items) -> tuple[ValueRule, ...]:
    if isinstance(rules, str):
        return (ValueRule("css", rules),)
    return () if rules is None else (rules,) if isinstance(rules, ValueRule) else rules


@pytest.fixture
def read() -> Callable[..., Extraction]:
    """Reads a page and gives its extraction."""
    return _read


@pytest.fixture
def value() -> Callable[..., Any]:
    """Reads one field; with `items` of the first item."""

    def first_value(
        html: str | bytes, expr: Any, *, items: Items = None, content_type: str = "text/html", **rule: Any
    ) -> Any:
        field = ValueRule(rule.pop("type", "css"), expr, **rule)
        return _read(html, fields={"x": field}, items=items, content_type=content_type).items[0]["x"]

    return first_value
