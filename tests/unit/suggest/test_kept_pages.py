"""The pages of the folder: how many of them are understood."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from smartspider.core.pages.page import Page
from smartspider.suggest.suggest import find_suggestions
from smartspider.suggest.suggestion import Suggestion, to_task
from smartspider.taskfile.load import parse_task

EXPECTED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "pages" / "expected.json").read_text(encoding="utf-8")
)
PAGES_UNDERSTOOD = 26
"""All of them; every page has a list, or a record, that a person would choose without hesitation."""

_known: dict[str, list[Suggestion]] = {}


def suggestions_for(name: str, page: Page) -> list[Suggestion]:
    """Made once for all tests."""
    if name not in _known:
        _known[name] = find_suggestions(page).suggestions
    return _known[name]


Rows = Callable[[Suggestion, Page], list[dict[str, Any]]]


class Outcome(NamedTuple):
    """How well the first suggestion fits what a person sees in a page."""

    page: str
    items: int
    wanted: int
    missing: list[str]
    share: float

    @property
    def is_good(self) -> bool:
        return self.items == self.wanted and self.share >= 0.9

    def __str__(self) -> str:
        mark = "ok " if self.is_good else "BAD"
        items = f"{self.items:3} of {self.wanted:3} items"
        return f"{mark} {self.page:24} {items}, fields {self.share:4.0%} {self.missing}"


def judge(name: str, found: list[dict[str, Any]]) -> Outcome:
    wanted = EXPECTED[name]
    missing = [field for field, values in wanted["fields"].items() if not any_column(found, values)]
    return Outcome(name, len(found), wanted["count"], missing, 1 - len(missing) / len(wanted["fields"]))


def any_column(found: list[dict[str, Any]], values: dict[str, Any]) -> bool:
    """Whether one column has all the values in their rows; a list gives forms of the same value."""
    return any(
        all(
            int(row) < len(found)
            and any(
                is_same(found[int(row)][column], one)
                for one in (value if isinstance(value, list) else [value])
            )
            for row, value in values.items()
        )
        for column in (found[0] if found else {})
    )


def is_same(found: Any, wanted: Any) -> bool:
    """Return True if a value is the wanted one; a column of numbers may come as text or as numbers."""
    return bool(found == wanted) or (isinstance(found, int | float) and f"{found:g}" == wanted)


def test_lists_and_fields_of_the_kept_pages_are_found(kept_page: Callable[[str], Page], rows: Rows) -> None:
    outcomes = []
    for name in EXPECTED:
        page = kept_page(name)
        suggestions = suggestions_for(name, page)
        outcomes.append(judge(name, rows(suggestions[0], page)) if suggestions else None)
    sys.stdout.write("\n".join(map(str, outcomes)) + "\n")
    assert len(outcomes) == 26
    assert sum(1 for outcome in outcomes if outcome is not None and outcome.is_good) >= PAGES_UNDERSTOOD


@pytest.mark.parametrize("name", [name for name, wanted in EXPECTED.items() if "next" in wanted])
def test_the_next_page_is_found(name: str, kept_page: Callable[[str], Page]) -> None:
    from selectolax.lexbor import LexborHTMLParser

    page = kept_page(name)
    pagination = find_suggestions(page).paginations[0]
    if pagination.get("language") == "jmespath":
        import jmespath

        assert jmespath.search(pagination["selector"], json.loads(page.body)) == EXPECTED[name]["next"]
        return
    found = LexborHTMLParser(page.body).css(pagination["selector"])
    assert {node.attributes["href"] for node in found} == {EXPECTED[name]["next"]}


@pytest.mark.parametrize("name", list(EXPECTED))
def test_every_suggestion_is_a_valid_task_with_rows(
    name: str, kept_page: Callable[[str], Page], rows: Rows
) -> None:
    page = kept_page(name)
    for suggestion in suggestions_for(name, page):
        parse_task(to_task(suggestion, page.url))
        assert len(rows(suggestion, page)) == suggestion.count


@pytest.mark.parametrize("name", list(EXPECTED))
def test_items_are_never_chosen_by_number_or_by_generated_names(
    name: str, kept_page: Callable[[str], Page]
) -> None:
    items = suggestions_for(name, kept_page(name))[0].items
    expr = items if isinstance(items, str) else "" if items is None else items["expr"]
    assert "nth" not in expr.replace(":has(> td:nth-child", "")
    assert "css-" not in expr
    assert ".flex" not in expr


@pytest.mark.parametrize("name", list(EXPECTED))
def test_no_two_columns_say_the_same(name: str, kept_page: Callable[[str], Page], rows: Rows) -> None:
    page = kept_page(name)
    suggestion = suggestions_for(name, page)[0]
    if suggestion.kind not in {"list", "table"}:
        return
    found = rows(suggestion, page)
    columns = [tuple(str(row[field.name]) for row in found) for field in suggestion.fields]
    assert len(set(columns)) == len(columns)
