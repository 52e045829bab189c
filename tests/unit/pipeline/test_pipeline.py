"""Steps put together: fields, order, item steps, counts, the cleaning log, and promises about errors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smartspider.core.items.columns import TableColumn
from smartspider.core.items.dedup import unique_keys
from smartspider.core.pages.extraction import Extraction, Link, RejectedItem, StepCount, ValueChange
from smartspider.core.pages.page import Page
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve

Run = Callable[..., Extraction]


def find(name: str) -> Any:
    return resolve(STEP, name)


def test_a_step_without_fields_applies_to_all_of_them(run: Run) -> None:
    assert run(["trim"], {"a": " x ", "b": " y ", "n": 1, "z": None}).items == [
        {"a": "x", "b": "y", "n": 1, "z": None}
    ]


def test_a_step_with_fields_leaves_the_others(run: Run) -> None:
    assert run([{"use": "trim", "fields": ["a"]}], {"a": " x ", "b": " y "}).items == [{"a": "x", "b": " y "}]


def test_steps_come_in_order(run: Run) -> None:
    steps = [{"use": "replace", "pattern": "a", "with": "b"}, {"use": "replace", "pattern": "b", "with": "c"}]
    assert run(steps, {"x": "ab"}).items == [{"x": "cc"}]


def test_a_step_that_is_switched_off_does_nothing_and_keeps_its_number(run: Run) -> None:
    steps = [{"use": "upper", "enabled": False}, {"use": "required"}]
    done = run(steps, {"a": "x"}, {"a": ""})
    assert done.items == [{"a": "x"}]
    assert done.rejected[0].step == "pipeline[1] required"


def test_lists_are_processed_value_by_value(run: Run) -> None:
    done = run([{"use": "number"}], {"a": ["1", "x", ["2"], None]})
    assert done.items == [{"a": [1, None, [2], None]}]
    assert done.counts == {"pipeline[0] number": StepCount(seen=3, changed=2, emptied=1)}


def test_one_bad_value_of_a_list_costs_the_item_when_a_check_says_so(run: Run) -> None:
    done = run([{"use": "range", "max": 5}], {"a": [1, 9]})
    assert (done.items, done.rejected[0].value) == ([], 9)


def test_a_dotted_name_reaches_into_objects_and_lists_of_them(run: Run) -> None:
    item = {"seller": {"name": " A ", "id": " 1 "}, "offers": [{"p": "1"}, {"p": "x"}, {"q": 1}, 5]}
    steps = [{"use": "trim", "fields": ["seller.name"]}, {"use": "number", "fields": ["offers.p"]}]
    assert run(steps, item).items == [
        {"seller": {"name": "A", "id": " 1 "}, "offers": [{"p": 1}, {"p": None}, {"q": 1}, 5]}
    ]


def test_a_field_whose_name_has_a_dot_is_that_field(run: Run) -> None:
    assert run([{"use": "trim", "fields": ["a.b"]}], {"a.b": " x "}).items == [{"a.b": "x"}]


def test_what_an_item_shares_with_others_is_never_changed(run: Run) -> None:
    shared = {"name": " A ", "tags": [" x "]}
    before = copy.deepcopy(shared)
    steps = [
        {"use": "trim", "fields": ["s.name", "s.tags"]},
        {"use": "rename", "fields": ["s.name"], "to": "name"},
    ]
    done = run(steps, {"s": shared}, {"s": shared})
    assert done.items == [{"s": {"tags": ["x"]}, "name": "A"}] * 2
    assert shared == before


def test_the_given_extraction_stays_as_it_was(run: Run) -> None:
    item = {"a": " x "}
    run(["trim"], item)
    assert item == {"a": " x "}


@pytest.mark.parametrize(
    ("steps", "item", "expected"),
    [
        ([{"use": "rename", "fields": ["a"], "to": "z"}], {"a": 1, "b": 2}, {"z": 1, "b": 2}),
        ([{"use": "rename", "to": {"a": "b", "b": "a"}}], {"a": 1, "b": 2}, {"b": 1, "a": 2}),
        ([{"use": "drop", "fields": ["a", "b.x"]}], {"a": 1, "b": {"x": 1, "y": 2}}, {"b": {"y": 2}}),
        ([{"use": "default", "value": "?"}], {"a": None, "b": " ", "c": 0}, {"a": "?", "b": "?", "c": 0}),
        ([{"use": "default", "fields": ["a"], "value": []}], {"a": None, "b": None}, {"a": [], "b": None}),
        (
            [{"use": "template", "fields": ["t"], "text": "{a}-{b.x} {c} {"}],
            {"a": 1, "b": {"x": "y"}, "c": None},
            {"a": 1, "b": {"x": "y"}, "c": None, "t": "1-y  {"},
        ),
        ([{"use": "template", "fields": ["a"], "text": "<{a}>"}], {"a": "x"}, {"a": "<x>"}),
        ([{"use": "template", "fields": ["t"], "text": "<{a}>"}], {"a": None}, {"a": None, "t": None}),
        ([{"use": "template", "fields": ["t"], "text": "const"}], {"a": None}, {"a": None, "t": "const"}),
        (
            [{"use": "rename", "fields": ["a"], "to": "z"}, {"use": "trim", "fields": ["z"]}],
            {"a": " x "},
            {"z": "x"},
        ),
        (
            [
                {"use": "split", "fields": ["a"], "sep": "|"},
                {"use": "integer", "fields": ["a"]},
                {"use": "join", "fields": ["a"], "sep": "+"},
            ],
            {"a": "1|2"},
            {"a": "1+2"},
        ),
        (["unique"], {"a": 1}, {"a": 1}),
    ],
)
def test_items_take_the_shape_the_steps_give_them(
    run: Run, steps: list[Any], item: dict[str, Any], expected: dict[str, Any]
) -> None:
    (done,) = run(steps, item).items
    assert (done, list(done)) == (expected, list(expected))


def test_a_default_is_not_shared_between_items(run: Run) -> None:
    first, second = run([{"use": "default", "fields": ["a"], "value": []}], {"a": None}, {"a": None}).items
    assert first["a"] is not second["a"]


def test_items_stay_in_order_and_rejects_come_after_those_of_the_rules() -> None:
    pipeline = StepCompiler(find).compile_pipeline(
        ({"use": "required"}, {"use": "range", "max": 5}), (TableColumn("a"),)
    )
    assert pipeline is not None
    link = Link("/x", "default")
    earlier = RejectedItem("earlier", {})
    given_ = Extraction(
        [{"a": 1}, {"a": 9}, {"a": 2}, {"a": None}, {"a": 3}], [link], "http://h/", [earlier], 7
    )
    done = pipeline.process(given_, Page("http://h/", 200, {}, b"", "utf-8", 0.0))
    assert [item["a"] for item in done.items] == [1, 2, 3]
    assert [each.reason for each in done.rejected] == ["earlier", "a is above 5", "a is missing"]
    assert (done.links, done.cleaned, done.base) == ([link], 7, "http://h/")


def test_counts_say_what_each_step_did(run: Run) -> None:
    steps = ["trim", {"use": "number", "fields": ["a"]}, {"use": "required", "fields": ["a"]}]
    done = run(steps, {"a": " 1 ", "b": "x"}, {"a": "y", "b": None}, {"a": 2, "b": None})
    assert done.counts == {
        "pipeline[0] trim": StepCount(seen=4, changed=1),
        "pipeline[1] number": StepCount(seen=3, changed=1, emptied=1),
        "pipeline[2] required": StepCount(seen=3, rejected=1),
    }


def test_counts_begin_anew_with_each_page() -> None:
    pipeline = StepCompiler(find).compile_pipeline(({"use": "trim"},), (TableColumn("a"),))
    assert pipeline is not None
    page = Page("http://h/", 200, {}, b"", "utf-8", 0.0)
    for _ in range(2):
        done = pipeline.process(Extraction([{"a": " x"}], [], "http://h/"), page)
        assert done.counts == {"pipeline[0] trim": StepCount(seen=1, changed=1)}
    assert pipeline.process(Extraction([], [], "http://h/"), page).counts == {}


def test_the_cleaning_log_has_before_and_after(run: Run) -> None:
    steps = ["trim", {"use": "number", "fields": ["a"]}, {"use": "rename", "fields": ["a"], "to": "z"}]
    done = run(steps, {"a": "1", "b": {"c": 1}}, {"a": " 2 ", "b": None}, logs=True)
    assert done.changes == [
        ValueChange(1, "pipeline[0] trim", "a", " 2 ", "2"),
        ValueChange(0, "pipeline[1] number", "a", "1", 1),
        ValueChange(1, "pipeline[1] number", "a", "2", 2),
        ValueChange(0, "pipeline[2] rename", "a", 1, None),
        ValueChange(0, "pipeline[2] rename", "z", None, 1),
        ValueChange(1, "pipeline[2] rename", "a", 2, None),
        ValueChange(1, "pipeline[2] rename", "z", None, 2),
    ]


def test_the_cleaning_log_is_off_unless_asked_for(run: Run) -> None:
    assert run(["trim"], {"a": " x "}).changes == []


def test_long_values_are_cut_in_the_cleaning_log(run: Run) -> None:
    done = run(
        ["trim", {"use": "split", "fields": ["b"]}], {"a": " " + "x" * 9999, "b": "y," * 900}, logs=True
    )
    lengths = [(len(change.before), len(change.after)) for change in done.changes]
    assert lengths == [(500, 500), (500, 500)]


def test_the_cleaning_log_of_a_page_is_bounded(run: Run) -> None:
    done = run(["trim"], *({"a": " x"} for _ in range(10_500)), logs=True)
    assert len(done.changes) == 10_000
    assert done.counts["pipeline[0] trim"].changed == 10_500


def test_the_log_notes_what_happened_inside_objects(run: Run) -> None:
    done = run([{"use": "trim", "fields": ["s.n"]}], {"s": {"n": " x"}}, logs=True)
    assert done.changes == [ValueChange(0, "pipeline[0] trim", "s.n", " x", "x")]


def test_no_steps_are_no_pipeline() -> None:
    assert StepCompiler(find).compile_pipeline((), (TableColumn("a"),)) is None
    assert (
        StepCompiler(find).compile_pipeline(({"use": "trim", "enabled": False},), (TableColumn("a"),)) is None
    )
    assert StepCompiler(find).compile_pipeline(({"use": "unique"},), (TableColumn("a"),)) is None


@pytest.mark.parametrize(
    ("steps", "keys"),
    [
        ([], ()),
        ([{"use": "unique"}], ((),)),
        ([{"use": "unique", "fields": ["a", "b"]}, {"use": "unique", "fields": ["c"]}], (("a", "b"), ("c",))),
        ([{"use": "unique", "fields": ["a"]}, {"use": "rename", "fields": ["a"], "to": "z"}], (("z",),)),
        ([{"use": "rename", "to": {"a": "z"}}, {"use": "unique", "fields": ["z"]}], (("z",),)),
        ([{"use": "unique", "fields": ["a"], "enabled": False}], ()),
    ],
)
def test_unique_gives_the_keys_that_the_ledger_compares(steps: list[Any], keys: tuple[Any, ...]) -> None:
    assert unique_keys(steps) == keys


OPTIONS: dict[str, dict[str, Any]] = {
    "map": {"values": {"a": 1}},
    "replace": {"pattern": "a+", "with": "b"},
    "extract": {"pattern": "(a)|b"},
    "template": {"text": "{a}{b}", "fields": ["c"]},
    "rename": {"to": {"a": "z"}},
    "drop": {"fields": ["a"]},
    "default": {"value": 1},
    "type": {"is": "text"},
    "range": {"min": 0},
    "length": {"max": 9},
    "enum": {"values": ["a"]},
    "matches": {"pattern": "a"},
    "schema": {"json_schema": {"minProperties": 1}},
    "number": {"currency": "money"},
}
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text(alphabet="0123456789.,-年月日 前<>&k€"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("use", sorted(set(STEP.built_in) - {"date", "language"}))
@settings(max_examples=40, deadline=None)
@given(value=ANYTHING, other=ANYTHING)
def test_no_value_makes_a_step_raise(use: str, value: Any, other: Any) -> None:
    step = {"use": use, **OPTIONS.get(use, {})}
    pipeline = StepCompiler(find, logs_cleaning=True).compile_pipeline(
        (step,), (TableColumn("a"), TableColumn("b"))
    )
    if pipeline is None:
        return
    done = pipeline.process(
        Extraction([{"a": value, "b": other}], [], "http://h/"), Page("http://h/", 200, {}, b"", "utf-8", 0.0)
    )
    assert len(done.items) + len(done.rejected) == 1
    assert not [each.reason for each in done.rejected if "broke" in each.reason]


@settings(max_examples=40, deadline=None)
@given(value=ANYTHING)
def test_no_value_makes_a_date_raise(value: Any) -> None:
    step = {"use": "date", "formats": ["%d.%m.%Y"]}
    pipeline = StepCompiler(find).compile_pipeline((step,), (TableColumn("a"),))
    assert pipeline is not None
    done = pipeline.process(
        Extraction([{"a": value}], [], "http://h/"), Page("http://h/", 200, {}, b"", "utf-8", 0.0)
    )
    assert len(done.items) == 1


@pytest.mark.parametrize("use", ["trim", "whitespace", "unicode", "lower"])
@given(text=st.text())
def test_applying_a_step_twice_changes_nothing_more(use: str, text: str) -> None:
    step: Any = find(use)()
    assert step.apply(step.apply(text, None), None) == step.apply(text, None)


@pytest.mark.parametrize("use", ["trim", "number", "split", "join", "length", "schema", "default"])
def test_a_value_nested_without_end_ends_as_a_row_or_a_reject(run: Run, use: str) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    other: dict[str, Any] = {}
    for _ in range(100_000):
        other = {"a": other}
    step = {"use": use, "fields": ["a"], **OPTIONS.get(use, {})}
    if use in ("number", "schema"):
        step = {
            "use": use,
            "fields": ["a"],
            **({"json_schema": {"items": {"$ref": "#"}}} if use == "schema" else {}),
        }
    done = run([step], {"a": deep, "b": 1}, {"a": other, "b": 1}, {"a": "1", "b": 1}, logs=True)
    assert len(done.items) + len(done.rejected) == 3
