"""The four forms of a rule, and how rules and nested items are distinguished."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.pages.rules import FieldRule, FirstOf, NestedRule, ValueRule
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


def compiled(rule: object) -> FieldRule:
    task = {"name": "a", "entry_urls": ["http://a/"], "selectors": {"fields": {"x": rule}}}
    return compile_task(parse_task(task)).pages["default"].fields["x"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (".a", ValueRule("css", ".a")),
        ({"expr": ".a"}, ValueRule("css", ".a")),
        ({"type": "meta", "expr": "url"}, ValueRule("meta", "url")),
        ({"type": "const", "expr": 5}, ValueRule("const", 5)),
        ({"type": "const", "expr": {"a": ".b"}}, ValueRule("const", {"a": ".b"})),
        ({"type": "const", "expr": None}, ValueRule("const", None)),
        ({"expr": ".a", "text": "raw", "attr": "href"}, ValueRule("css", ".a", attr="href", is_raw=True)),
        ({"expr": ".a", "join": "; "}, ValueRule("css", ".a", many=True, join="; ")),
        (
            {"expr": ".a", "default": [0], "required": True},
            ValueRule("css", ".a", default=[0], required=True),
        ),
        ([".a", {"expr": ".b"}], FirstOf((ValueRule("css", ".a"), ValueRule("css", ".b")))),
        ({"a": ".b"}, NestedRule({"a": ValueRule("css", ".b")})),
        ({"a": {"b": [".c"]}}, NestedRule({"a": NestedRule({"b": FirstOf((ValueRule("css", ".c"),))})})),
    ],
)
def test_each_form_means_what_it_should(written: Any, meant: FieldRule) -> None:
    assert compiled(written) == meant


def test_an_object_is_nested_when_type_is_a_selector_and_not_a_rule_type() -> None:
    assert compiled({"type": ".kind", "text": ".body"}) == NestedRule(
        {"type": ValueRule("css", ".kind"), "text": ValueRule("css", ".body")}
    )


def test_an_object_is_nested_when_expr_and_type_are_rules_themselves() -> None:
    assert compiled({"expr": {"expr": ".a"}, "type": {"type": "css", "expr": ".b"}}) == NestedRule(
        {"expr": ValueRule("css", ".a"), "type": ValueRule("css", ".b")}
    )
