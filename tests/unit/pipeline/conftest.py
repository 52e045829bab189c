"""Items through steps, as the engine would send them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.items.columns import TableColumn
from smartspider.core.pages.extraction import Extraction, Item
from smartspider.core.pages.page import Page
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve

FETCHED_AT = 1767960000.0  # 2026-01-09T12:00:00Z, a Friday
URL = "http://shop.example/list/page"

find = partial(resolve, STEP)


def a_page() -> Page:
    return Page(URL, 200, {}, b"", "utf-8", FETCHED_AT)


@pytest.fixture
def context() -> PageContext:
    return PageContext(URL, URL, FETCHED_AT)


@pytest.fixture
def one(context: PageContext) -> Callable[..., Any]:
    """What a step makes of one value; a failure comes back as its reason."""

    def apply(use: str, value: Any, **options: Any) -> Any:
        try:
            step: Any = find(use)(**options)
            return step.apply(value, context)
        except StepFailed as failed:
            return failed

    return apply


@pytest.fixture
def run() -> Callable[..., Extraction]:
    """Items after the steps of a pipeline."""

    def apply(steps: list[Any], *items: Item, logs: bool = False, columns: str = "") -> Extraction:
        names = columns.split() or list(dict.fromkeys(name for item in items for name in item))
        pipeline = StepCompiler(find, logs_cleaning=logs).compile_pipeline(
            tuple({"use": step} if isinstance(step, str) else step for step in steps),
            tuple(TableColumn(name) for name in names),
        )
        extraction = Extraction(list(items), [], URL)
        return extraction if pipeline is None else pipeline.process(extraction, a_page())

    return apply


@pytest.fixture
def wrong() -> Callable[..., list[Problem]]:
    """What a pipeline is refused for."""

    def problems(steps: list[Any], columns: str = "a b c") -> list[Problem]:
        with pytest.raises(TaskInvalid) as caught:
            StepCompiler(find).compile_pipeline(
                tuple({"use": step} if isinstance(step, str) else step for step in steps),
                tuple(TableColumn(name) for name in columns.split()),
            )
        assert str(caught.value) == f"{caught.value.problems[0].path}: {caught.value.problems[0].message}"
        return list(caught.value.problems)

    return problems
