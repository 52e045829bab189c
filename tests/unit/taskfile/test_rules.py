"""The four forms of a rule, and how an object is told to be a rule or a nested item."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.rules import FieldRule, FirstOf, Nested, Rule
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


def compiled(rule: object) -> FieldRule:
    task = {"name": "a", "entry_urls": ["http://a/"], "selectors": {"fields": {"x": rule}}}
    return compile_task(parse_task(task)).pages["default"].fields["x"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (".a", Rule("css", ".a")),
        ({"expr": ".a"}, Rule("css", ".a")),
        ({"type": "meta", "expr": "url"}, Rule("meta", "url")),
        ({"type": "const", "expr": 5}, Rule("const", 5)),
        ({"type": "const", "expr": {"a": ".b"}}, Rule("const", {"a": ".b"})),
        ({"type": "const", "expr": None}, Rule("const", None)),
        ({"expr": ".a", "text": "raw", "attr": "href"}, Rule("css", ".a", attr="href", is_raw=True)),
        ({"expr": ".a", "join": "; "}, Rule("css", ".a", many=True, join="; ")),
        ({"expr": ".a", "default": [0], "required": True}, Rule("css", ".a", default=[0], required=True)),
        ([".a", {"expr": ".b"}], FirstOf((Rule("css", ".a"), Rule("css", ".b")))),
        ({"a": ".b"}, Nested({"a": Rule("css", ".b")})),
        ({"a": {"b": [".c"]}}, Nested({"a": Nested({"b": FirstOf((Rule("css", ".c"),))})})),
    ],
)
def test_each_form_means_what_it_should(written: Any, meant: FieldRule) -> None:
    assert compiled(written) == meant


def test_an_object_is_nested_when_type_is_a_selector_and_not_a_rule_type() -> None:
    assert compiled({"type": ".kind", "text": ".body"}) == Nested(
        {"type": Rule("css", ".kind"), "text": Rule("css", ".body")}
    )


def test_an_object_is_nested_when_expr_and_type_are_rules_themselves() -> None:
    assert compiled({"expr": {"expr": ".a"}, "type": {"type": "css", "expr": ".b"}}) == Nested(
        {"expr": Rule("css", ".a"), "type": Rule("css", ".b")}
    )
