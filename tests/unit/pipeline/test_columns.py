"""Columns and the published schema of rows."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from smartspider.core.pages.rules import FieldRule, FirstOf, FollowRule, NestedRule, PagePlan, ValueRule
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.services.plans import plan_columns, row_schema


def plan(fields: dict[str, FieldRule], *pipeline: Any, more: tuple[PagePlan, ...] = ()) -> Plan:
    pages = {page.name: page for page in (PagePlan("default", fields=fields), *more)}
    steps = tuple({"use": step} if isinstance(step, str) else step for step in pipeline)
    return Plan("shop", b"", "", (), pages, UrlScope(frozenset()), pipeline=steps)


def css(*steps: Any, **rule: Any) -> ValueRule:
    return ValueRule("css", ".x", steps=tuple({"use": s} if isinstance(s, str) else s for s in steps), **rule)


def kinds(made: Plan) -> dict[str, str]:
    return {column.name: column.kind for column in plan_columns(made)}


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (css(), "text"),
        (css(many=True), "json"),
        (css(many=True, join=","), "text"),
        (css("number"), "number"),
        (css("number", many=True), "json"),
        (css("split"), "json"),
        (css("split", "join"), "text"),
        (css("split", "integer"), "json"),
        (css("trim", "integer", "required"), "integer"),
        (css("date"), "datetime"),
        (css("date", {"use": "type", "is": "text"}), "datetime"),
        (css("boolean"), "boolean"),
        (css({"use": "number", "on_error": "keep"}), "json"),
        (css("integer", default=1.5), "number"),
        (css("number", many=True, join="+"), "text"),
        (css("nonsense"), "json"),
        (css(default=1), "json"),
        (css("integer", {"use": "default", "value": 0}), "integer"),
        (css("integer", {"use": "default", "value": "none"}), "json"),
        (css({"use": "map", "values": {"a": 1, "b": 2.5, "c": None}}), "number"),
        (css({"use": "extract", "pattern": "(?P<a>.)"}), "json"),
        (css(fields={"a": css()}), "json"),
        (NestedRule({"a": css()}), "json"),
        (ValueRule("jmespath", "a"), "json"),
        (ValueRule("jmespath", "a", steps=({"use": "type", "is": "integer"},)), "integer"),
        (ValueRule("jmespath", "a", steps=({"use": "trim"},)), "json"),
        (ValueRule("json_ld", None), "json"),
        (ValueRule("const", "x"), "text"),
        (ValueRule("const", 5), "integer"),
        (ValueRule("const", ["x"]), "json"),
        (ValueRule("meta", "status"), "integer"),
        (ValueRule("meta", "depth"), "integer"),
        (ValueRule("meta", "fetched_at"), "datetime"),
        (ValueRule("meta", "url"), "text"),
        (ValueRule("meta", "carried"), "json"),
        (FirstOf((css("number"), css("integer"))), "number"),
        (FirstOf((css(), ValueRule("const", "none"))), "text"),
        (FirstOf((css(), ValueRule("jmespath", "a"))), "json"),
    ],
)
def test_a_rule_and_its_steps_give_the_kind_of_its_column(rule: FieldRule, kind: str) -> None:
    assert kinds(plan({"a": rule})) == {"a": kind}


def test_the_pipeline_renames_drops_adds_and_converts() -> None:
    made = plan(
        {"a": css(), "b": css(), "c": css(), "d": css(many=True), "when": css()},
        {"use": "rename", "to": {"a": "z", "d": "list"}},
        {"use": "number", "fields": ["z", "list"], "currency": "money"},
        {"use": "drop", "fields": ["b"]},
        {"use": "template", "fields": ["t"], "text": "{c}"},
        {"use": "date", "fields": ["when"]},
        {"use": "language", "fields": ["c"]},
        {"use": "trim"},
        {"use": "upper", "enabled": False},
    )
    assert kinds(made) == {
        "z": "number",
        "c": "text",
        "list": "json",
        "when": "datetime",
        "money": "text",
        "t": "text",
        "language": "text",
    }
    assert list(kinds(made)) == ["z", "c", "list", "when", "money", "t", "language"]


def test_a_field_of_two_page_types_is_all_that_it_may_be_and_others_are_left_out() -> None:
    more = (
        PagePlan("b", fields={"n": css("number"), "x": css("number"), "only_b": css()}),
        PagePlan("links", fields={"hidden": css()}, emits=False),
    )
    made = plan({"x": css(), "n": css("integer")}, more=more)
    assert kinds(made) == {"x": "json", "n": "number", "only_b": "text"}


def test_the_schema_of_a_row_is_valid_and_typed() -> None:
    made = plan(
        {
            "title": css(required=True),
            "price": css("number"),
            "tags": css(many=True),
            "seller": NestedRule({"name": css(), "id": css("integer")}),
            "offers": css(many=True, fields={"p": css("number")}),
            "when": css("date"),
            "any": ValueRule("jmespath", "a"),
        }
    )
    schema = row_schema(made)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == "shop"
    assert schema["required"] == list(schema["properties"])
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["properties"]["price"] == {"type": ["number", "null"]}
    assert schema["properties"]["any"] == {}
    row = {
        "title": "a",
        "price": 1.5,
        "tags": ["x"],
        "seller": {"name": "b", "id": 1},
        "offers": [{"p": 1}],
        "when": "2026-01-03",
        "any": {"deep": [1]},
    }
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(row)
    for wrong in (
        {"title": None},
        {"price": "1"},
        {"tags": [1]},
        {"seller": {"id": "x"}},
        {"when": "3rd"},
        {"more": 1},
    ):
        assert not validator.is_valid({**row, **wrong}), wrong


def test_the_schema_follows_the_pipeline() -> None:
    made = plan(
        {"a": css(), "b": css(many=True)},
        {"use": "required", "fields": ["a"]},
        {"use": "template", "fields": ["t"], "text": "{a}"},
        {"use": "number", "fields": ["b"]},
    )
    schema = row_schema(made)
    assert schema["properties"] == {
        "a": {"type": "string"},
        "b": {"type": ["array", "null"]},
        "t": {"type": ["string", "null"]},
    }
    assert schema["required"] == ["a", "b", "t"]


def test_a_conversion_that_may_fail_takes_the_promise_of_a_value_back() -> None:
    schema = row_schema(plan({"a": css()}, "required", "number"))
    assert schema["properties"]["a"] == {"type": ["number", "null"]}
    schema = row_schema(plan({"a": css()}, "required", {"use": "number", "on_error": "reject"}))
    assert schema["properties"]["a"] == {"type": "number"}


def test_rows_of_several_page_types_need_only_what_all_have() -> None:
    more = (PagePlan("b", fields={"x": css(required=True), "y": css(required=True)}),)
    schema = row_schema(plan({"x": css(required=True)}, more=more))
    assert schema["required"] == ["x"]
    assert schema["properties"]["x"] == {"type": "string"}
    assert schema["properties"]["y"] == {"type": ["string", "null"]}


def test_a_carried_field_keeps_its_kind() -> None:
    fields: dict[str, FieldRule] = {
        "price": css("number"),
        "seen": css("date"),
        "name": css(),
        "tags": css(many=True),
    }
    follow = FollowRule(css(), "middle", carry=("price", "seen", "name", "tags", "other"))
    first = PagePlan("default", fields=fields, follow=(follow,), emits=False)
    carried: dict[str, FieldRule] = {
        name: ValueRule("meta", name) for name in ("price", "seen", "name", "tags", "other")
    }
    again = FollowRule(css(), "last", carry=("price", "seen", "name", "tags", "other"))
    middle = PagePlan("middle", fields=carried, follow=(again,), emits=False)
    last = PagePlan("last", fields=carried)
    made = Plan("shop", b"", "", (), {p.name: p for p in (first, middle, last)}, UrlScope(frozenset()))
    assert kinds(made) == {
        "price": "number",
        "seen": "datetime",
        "name": "text",
        "tags": "json",
        "other": "json",
    }
