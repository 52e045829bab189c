"""Rules as programs send them."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import RequestInvalid
from smartspider.services.preview.rules import RuleResult, build_task, parse_rules, result_warnings

SELECTORS = {"items": ".p", "fields": {"title": "h2"}}
URL = "http://shop.example/"


def given(**rules: Any) -> dict[str, Any]:
    return {"rules": None, "selectors": None, "task": None} | rules


@pytest.mark.parametrize(
    ("sent", "selectors"),
    [
        (given(selectors=SELECTORS), SELECTORS),
        (given(rules=SELECTORS), SELECTORS),
        (given(rules={"selectors": SELECTORS, "name": "x"}), SELECTORS),
        (given(task={"selectors": SELECTORS, "entry_urls": ["http://elsewhere.example/"]}), SELECTORS),
        (given(rules={"title": "h2"}), {"fields": {"title": "h2"}}),
        (given(rules={"expr": "h2", "many": True}), {"fields": {"value": {"expr": "h2", "many": True}}}),
        (given(rules=["h1", "h2"]), {"fields": {"value": ["h1", "h2"]}}),
        (given(rules="h2"), {"fields": {"value": {"expr": "h2", "many": True}}}),
        (given(rules="//h2"), {"fields": {"value": {"type": "xpath", "expr": "//h2", "many": True}}}),
    ],
)
def test_rules_in_any_form_become_a_task_for_one_url(sent: dict[str, Any], selectors: dict[str, Any]) -> None:
    task = build_task(URL, parse_rules(sent))
    assert task["entry_urls"] == [URL]
    assert task["selectors"] == selectors


@pytest.mark.parametrize(
    "sent", [given(), given(rules="a", task={}), given(rules=" "), given(selectors={"items": "p"})]
)
def test_rules_that_say_nothing_are_refused(sent: dict[str, Any]) -> None:
    with pytest.raises(RequestInvalid):
        build_task(URL, parse_rules(sent))


def test_what_is_odd_is_said() -> None:
    assert result_warnings(200, RuleResult("lexbor", [{"a": 1, "b": None}, {"a": None, "b": None}], [])) == [
        "the field 'b' is always empty"
    ]
    assert result_warnings(404, RuleResult("lexbor", [], [{"reason": "x"}])) == [
        "the page has status 404, so a crawl would not extract it",
        "every item was rejected",
    ]
    assert result_warnings(200, RuleResult("lexbor", [], [])) == ["no item was found"]
