"""Checks let values pass or cost the item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.interfaces.step import StepFailed

One = Callable[..., Any]
Run = Callable[..., Any]

AGE = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


@pytest.mark.parametrize(
    ("use", "options", "good", "bad"),
    [
        ("required", {}, ["x", 0, False, [0]], [None, "", "  ", [], {}]),
        ("type", {"is_": "text"}, ["", "x"], [1, True, {}]),
        ("type", {"is_": "number"}, [1, 1.5], ["1", True, [1]]),
        ("type", {"is_": "integer"}, [1], [1.0, True, "1"]),
        ("type", {"is_": "bool"}, [True], [1, "true"]),
        ("type", {"is_": "list"}, [[], [1]], ["x", {}]),
        ("type", {"is_": ["text", "number"]}, ["x", 1, 2.5], [True, {}]),
        ("range", {"min_": 1, "max_": 5}, [1, 5, 2.5], [0, 6, "3", True, float("nan"), [3]]),
        ("range", {"min_": "2026-01-01"}, ["2026-01-01", "2027"], ["2025-12-31", 2026]),
        ("range", {"max_": 0}, [0, -1], [1]),
        ("length", {"min_": 2, "max_": 3}, ["ab", "abc", [1, 2], {"a": 1, "b": 2}], ["a", "abcd", [1], 12]),
        ("enum", {"values": ["a", 1]}, ["a", 1], ["b", 1.0, True, "1", [], {}]),
        ("enum", {"values": [["a"], {"x": 1}]}, [["a"], {"x": 1}], ["a", ["b"]]),
        ("matches", {"pattern": r"^\d{3}$"}, ["123", 123], ["1234", "ab", True, [], {}]),
        ("matches", {"pattern": "b"}, ["abc"], ["ac"]),
        ("schema", {"json_schema": AGE}, [{"age": 1}], [{"age": -1}, {"age": "1"}, {}, 5]),
        ("map", {"values": {"new": 1, "true": "yes", "2": None}}, ["new", True, 2], ["old", 5, {}]),
    ],
)
def test_a_check_lets_good_values_pass_and_no_others(
    one: One, use: str, options: dict[str, Any], good: list[Any], bad: list[Any]
) -> None:
    assert [value for value in good if isinstance(one(use, value, **options), StepFailed)] == []
    assert [value for value in bad if not isinstance(one(use, value, **options), StepFailed)] == []


def test_what_a_map_gives_is_in_its_table(one: One) -> None:
    assert one("map", "new", values={"new": ["x"]}) == ["x"]
    assert one("map", True, values={"true": 1}) == 1


def test_a_check_keeps_the_value_reason_step_and_field_of_what_it_rejects(run: Run) -> None:
    steps = ["trim", {"use": "range", "fields": ["price"], "max": 10}]
    done = run(steps, {"price": 5}, {"price": 50}, {"price": 7})
    assert done.items == [{"price": 5}, {"price": 7}]
    (rejected,) = done.rejected
    assert (rejected.reason, rejected.step, rejected.field, rejected.value, rejected.item) == (
        "price is above 10",
        "pipeline[1] range",
        "price",
        50,
        {"price": 50},
    )


@pytest.mark.parametrize(
    ("on_error", "items", "reasons"),
    [
        (None, [], ["a is missing"]),
        ("reject", [], ["a is missing"]),
        ("null", [{"a": None}], []),
        ("keep", [{"a": ""}], []),
    ],
)
def test_the_task_chooses_what_a_failed_check_costs(
    run: Run, on_error: str | None, items: list[Any], reasons: list[str]
) -> None:
    step = {"use": "required", **({"on_error": on_error} if on_error else {})}
    done = run([step], {"a": ""})
    assert done.items == items
    assert [each.reason for each in done.rejected] == reasons


@pytest.mark.parametrize(
    ("on_error", "items", "emptied"),
    [(None, [{"a": None}], 1), ("keep", [{"a": "x"}], 0), ("reject", [], 0)],
)
def test_the_task_chooses_what_a_failed_conversion_costs(
    run: Run, on_error: str | None, items: list[Any], emptied: int
) -> None:
    done = run([{"use": "number", **({"on_error": on_error} if on_error else {})}], {"a": "x"})
    assert done.items == items
    assert done.counts["pipeline[0] number"].emptied == emptied


def test_a_whole_item_can_be_checked_by_a_schema(run: Run) -> None:
    done = run([{"use": "schema", "json_schema": AGE}], {"age": 1}, {"age": "old"})
    assert done.items == [{"age": 1}]
    assert [each.reason for each in done.rejected] == [
        "the item is not valid at age: 'old' is not of type 'integer'"
    ]


def test_a_field_can_be_checked_by_a_schema(run: Run) -> None:
    done = run([{"use": "schema", "fields": ["a"], "json_schema": {"type": "array"}}], {"a": [1]}, {"a": "x"})
    assert done.items == [{"a": [1]}]
    assert done.rejected[0].field == "a"


def test_a_schema_that_refers_to_what_it_has_not_rejects_and_says_so(run: Run) -> None:
    named = {"$id": "http://example.com/s", "$ref": "#/$defs/x"}
    done = run([{"use": "schema", "json_schema": named}], {"a": 1})
    assert "cannot be checked: the schema refers to '/$defs/x'" in done.rejected[0].reason


def test_a_reference_that_leads_nowhere_is_refused_before_any_item(run: Run) -> None:
    part = {"$id": "http://example.com/part", "$ref": "#/$defs/y", "$defs": {"y": {"type": "number"}}}
    for whole in ({"$ref": "#/$defs/x", "$defs": {"x": {}}}, {"$ref": "#/$defs/x", "$defs": {"x": part}}):
        assert run([{"use": "schema", "fields": ["a"], "json_schema": whole}], {"a": 1}).items == [{"a": 1}]
    with pytest.raises(TaskInvalid, match=r"it refers to '#/\$defs/x', which does not exist"):
        run([{"use": "schema", "json_schema": {"$ref": "#/$defs/x"}}], {"a": 1})


def test_required_sees_an_object_that_is_not_there(run: Run) -> None:
    steps = [{"use": "required", "fields": ["seller.name"]}]
    done = run(steps, {"seller": {"name": "A"}}, {"seller": {}}, {"seller": None}, {"seller": {"name": ""}})
    assert done.items == [{"seller": {"name": "A"}}]
    assert [each.reason for each in done.rejected] == ["seller.name is missing"] * 3
