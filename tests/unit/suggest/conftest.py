"""Pages to make suggestions for, and the rows that suggestions give on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve
from smartspider.suggest.suggest import find_suggestions
from smartspider.suggest.suggestion import Suggestion, to_task
from smartspider.taskfile.compile_pages import page_plans
from smartspider.taskfile.load import parse_task

URL = "https://site.example/list"
PAGES = Path(__file__).parent / "pages"
FETCHED_AT = 1_775_044_800.0
"""2026-04-01 12:00 UTC."""
_TYPES = {".html": "text/html; charset=utf-8", ".json": "application/json", ".xml": "application/rss+xml"}


def make_page(body: str | bytes, *, url: str = URL, content_type: str = "text/html") -> Page:
    raw = body if isinstance(body, bytes) else body.encode()
    return Page(url, 200, {"content-type": content_type}, raw, "utf-8", FETCHED_AT)


@pytest.fixture
def kept_page() -> Callable[[str], Page]:
    """A page of the folder, by its name."""

    def read(name: str) -> Page:
        path = PAGES / name
        return make_page(path.read_bytes(), content_type=_TYPES[path.suffix])

    return read


@pytest.fixture
def page_of() -> Callable[..., Page]:
    """A page with this body."""
    return make_page


@pytest.fixture
def best() -> Callable[..., Suggestion]:
    """The first suggestion for a body."""

    def first(body: str, **kwargs: Any) -> Suggestion:
        return find_suggestions(make_page(body, **kwargs)).suggestions[0]

    return first


@pytest.fixture
def likeliest_pagination() -> Callable[..., dict[str, Any] | None]:
    """The pagination of a body that would be tried first."""

    def first(body: str, **kwargs: Any) -> dict[str, Any] | None:
        return next(iter(find_suggestions(make_page(body, **kwargs)).paginations), None)

    return first


@pytest.fixture
def rows() -> Callable[[Suggestion, Page], list[dict[str, Any]]]:
    """What the task of a suggestion takes from a page, steps of its rules included."""

    def read(suggestion: Suggestion, page: Page) -> list[dict[str, Any]]:
        plans = page_plans(parse_task(to_task(suggestion, page.url)))
        steps = StepCompiler(partial(resolve, STEP))
        return (
            compile_pages(plans, TrapGuards(), steps.compile_chain)
            .extract(page, make_request(page.url))
            .items
        )

    return read
