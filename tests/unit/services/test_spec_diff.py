"""What two versions of a task differ in."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.services.tasks.spec_diff import SpecChange, diff_specs

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, width=16)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def difference(before: Any, after: Any) -> list[SpecChange]:
    return diff_specs(msgspec.json.encode(before), msgspec.json.encode(after))


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("changed", "a", 1, 2)]),
        ({"a": 1}, {"a": 1, "b": None}, [("added", "b", None, None)]),
        ({"a": {"b": 1}}, {"a": {}}, [("removed", "a.b", 1, None)]),
        ({"a": True}, {"a": 1}, [("changed", "a", True, 1)]),
        ({"a": 1}, {"a": 1.0}, [("changed", "a", 1, 1.0)]),
        ({"a": [1, 2, 3]}, {"a": [1, 9, 2, 3]}, [("added", "a[1]", None, 9)]),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, [("removed", "a[1]", 2, None)]),
        ({"a": [1, 1]}, {"a": [1, 1, 1]}, [("added", "a[2]", None, 1)]),
        ({"a": [{"b": 1}, 5]}, {"a": [{"b": 2}, 5]}, [("changed", "a[0].b", 1, 2)]),
        ({"a": "x"}, {"a": ["x"]}, [("changed", "a", "x", ["x"])]),
        ({"h": {"X-A.b": 1}}, {"h": {"X-A.b": 2}}, [("changed", 'h["X-A.b"]', 1, 2)]),
        ({"f": {"a": 1, "b": 2}}, {"f": {"b": 2, "a": 1}}, [("reordered", "f", ["a", "b"], ["b", "a"])]),
        ({"f": {"a": 1, "b": 2}}, {"f": {"a": 1, "c": 0, "b": 2}}, [("added", "f.c", None, 0)]),
    ],
)
def test_a_difference_names_the_place(before: Any, after: Any, changes: list[Any]) -> None:
    assert [(one.kind, one.path, one.before, one.after) for one in difference(before, after)] == changes


@given(JSON, JSON)
def test_there_is_a_difference_exactly_when_two_specs_differ(before: Any, after: Any) -> None:
    is_same = msgspec.json.encode(before) == msgspec.json.encode(after)
    assert (difference(before, after) == []) == is_same


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), JSON, max_size=4), JSON)
def test_one_value_that_is_added_is_one_change(spec: dict[str, Any], value: Any) -> None:
    after = copy.deepcopy(spec) | {"new": value}
    assert [(one.kind, one.path) for one in difference(spec, after)] == [("added", "new")]
    assert [(one.kind, one.path) for one in difference(after, spec)] == [("removed", "new")]


def test_long_lists_and_deep_values_take_no_time_and_no_stack() -> None:
    long = [f"https://a.example/{number}" for number in range(20_000)]
    assert [one.path for one in difference({"e": long}, {"e": ["x", *long]})] == ["e[0]"]
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    (change,) = difference(deep, msgspec.json.decode(msgspec.json.encode(deep).replace(b"1", b"2")))
    assert change.kind == "changed"
