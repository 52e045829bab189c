"""Steps of rules: they convert found values, and may reject the item."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.items.columns import ColumnKind
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.rules import FieldRule, FirstOf, NestedRule, PagePlan, ValueRule
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages
from smartspider.interfaces.step import PageContext, ValueRejected
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve

Read = Callable[..., Extraction]

HTML = """<base href="/sub/"><div class=c><b>1</b><b>x</b><b>2</b></div><div class=c><b>y</b></div>
<div class=c></div>"""


class Steps:
    """`int` makes numbers, `refuse` refuses x, `base` joins to the base, `give` stands in for nothing; all
    values are kept.
    """

    def __init__(self) -> None:
        self.made: list[str] = []
        self.seen: list[tuple[Any, int]] = []

    def __call__(self, steps: tuple[dict[str, Any], ...], path: str) -> Treatment:
        self.made.append(path)
        wrong = [Problem(f"{path}[0].use", "no such step")] if steps[0]["use"] == "wrong" else []
        if wrong:
            raise TaskInvalid("wrong", tuple(wrong))
        return Treatment(self, steps[0]["use"])


class Treatment:
    kind: ColumnKind | None = None

    def __init__(self, steps: Steps, use: str) -> None:
        self._steps = steps
        self._use = use

    def for_column(self, values: list[Any], context: PageContext) -> Treatment:
        return self

    def apply(self, value: Any, context: PageContext, item: int) -> Any:
        if isinstance(value, list):
            return [self.apply(each, context, item) for each in value]
        if value is None:
            return "given" if self._use == "give" else None
        self._steps.seen.append((value, item))
        if self._use == "refuse" and value == "x":
            raise ValueRejected("range", "is too strange", value)
        if self._use == "base":
            return context.base + value
        if self._use == "int":
            return int(value) if value.isdigit() else None
        return value


def stepped(expr: str, use: str = "int", **rule: Any) -> ValueRule:
    return ValueRule("css", expr, steps=({"use": use},), **rule)


def column(read: Read, rule: FieldRule, steps: Steps | None = None) -> list[Any]:
    return [
        item["x"] for item in read(HTML, items=".c", fields={"x": rule}, rule_steps=steps or Steps()).items
    ]


def test_the_value_is_what_the_steps_make_of_it(read: Read) -> None:
    assert column(read, stepped("b")) == [1, None, None]


def test_nothing_made_counts_as_missing(read: Read) -> None:
    assert column(read, stepped("b", default=0)) == [1, 0, 0]
    extraction = read(HTML, items=".c", fields={"x": stepped("b", required=True)}, rule_steps=Steps())
    assert extraction.items == [{"x": 1}]
    assert [each.reason for each in extraction.rejected] == ["required field 'x' is missing"] * 2


def test_each_value_of_a_list_passes_the_steps_before_they_are_joined(read: Read) -> None:
    assert column(read, stepped("b", many=True)) == [[1, 2], [], []]
    assert column(read, stepped("b", join="+")) == ["1+2", None, None]


def test_steps_may_stand_in_for_what_is_missing(read: Read) -> None:
    assert column(read, stepped("i", "give")) == ["given"] * 3
    assert column(read, stepped("b", "give", required=True)) == ["1", "y", "given"]


def test_alternatives_pass_the_steps_until_one_has_a_value(read: Read) -> None:
    steps = Steps()
    rule = FirstOf((stepped("b"), stepped("b:last-child", "as it is"), ValueRule("const", "none")))
    assert column(read, rule, steps) == [1, "y", "none"]
    assert steps.seen == [("1", 0), ("y", 1), ("y", 1)]


def test_steps_receive_the_number_of_the_item(read: Read) -> None:
    steps = Steps()
    rule = NestedRule({"l": ValueRule("css", "b", many=True, fields={"t": stepped(":scope", "as it is")})})
    column(read, rule, steps)
    assert steps.seen == [("1", 0), ("x", 0), ("2", 0), ("y", 1)]


def test_a_rejected_value_rejects_the_item_with_its_reason(read: Read) -> None:
    fields: dict[str, FieldRule] = {
        "n": NestedRule({"x": stepped("b:nth-child(2)", "refuse")}),
        "b": ValueRule("css", "b"),
    }
    extraction = read(HTML, items=".c", fields=fields, rule_steps=Steps())
    assert [item["b"] for item in extraction.items] == ["y", None]
    (rejected,) = extraction.rejected
    assert (rejected.step, rejected.field, rejected.value) == ("range", "n.x", "x")
    assert rejected.reason == "n.x is too strange"
    assert rejected.item == {"n": {"x": "x"}, "b": "1"}


def test_a_rejection_inside_alternatives_and_objects_rejects_too(read: Read) -> None:
    for rule in (
        FirstOf((stepped("b:nth-child(2)", "refuse"), ValueRule("css", "b"))),
        ValueRule("css", "b", many=True, fields={"y": stepped(":scope", "refuse")}),
        stepped("b", "refuse", many=True),
    ):
        extraction = read(HTML, items=".c", fields={"x": rule}, rule_steps=Steps())
        assert (len(extraction.items), len(extraction.rejected)) == (2, 1)
        assert extraction.rejected[0].field in {"x", "x.y"}


def test_the_rejected_item_is_the_one_with_the_value(read: Read) -> None:
    html = "<div class=c><b>1</b></div><div class=c><b>x</b></div><div class=c><b>3</b></div>"
    rules: list[FieldRule] = [stepped("b", "refuse"), FirstOf((stepped("b", "refuse"),))]
    rules.append(ValueRule("css", "b", many=True, fields={"y": stepped(":scope", "refuse")}))
    for rule in rules:
        extraction = read(
            html, items=".c", fields={"x": rule, "b": ValueRule("css", "b")}, rule_steps=Steps()
        )
        assert [item["b"] for item in extraction.items] == ["1", "3"]
        assert [each.item["b"] for each in extraction.rejected] == ["x"]


def test_steps_know_the_base_of_the_page(read: Read) -> None:
    assert column(read, stepped("b", "base"))[0] == "http://shop.example/sub/1"
    xpath = ValueRule("xpath", "//b", steps=({"use": "base"},))
    assert read(HTML, fields={"x": xpath}, rule_steps=Steps()).items == [{"x": "http://shop.example/sub/1"}]
    json = ValueRule("jmespath", "a", steps=({"use": "base"},))
    extraction = read('{"a": "b"}', fields={"x": json}, rule_steps=Steps(), content_type="application/json")
    assert extraction.items == [{"x": "http://shop.example/listb"}]


def test_values_are_clean_before_the_steps(read: Read) -> None:
    steps = Steps()
    extraction = read("<p>a\x00b</p>", fields={"x": stepped("p", "as it is")}, rule_steps=steps)
    assert (steps.seen, extraction.items, extraction.cleaned) == ([("ab", 0)], [{"x": "ab"}], 1)


def test_const_meta_and_data_have_steps_too(read: Read) -> None:
    use = ({"use": "int"},)
    fields: dict[str, FieldRule] = {
        "c": ValueRule("const", "7", steps=use),
        "m": ValueRule("meta", "m", steps=use),
    }
    assert read(HTML, fields=fields, meta={"m": "8"}, rule_steps=Steps()).items == [{"c": 7, "m": 8}]


def test_wrong_steps_are_named_with_everything_else() -> None:
    fields: dict[str, FieldRule] = {"a": stepped("b[", "wrong"), "b": FirstOf((stepped("b", "wrong"),))}
    with pytest.raises(TaskInvalid) as refused:
        compile_pages({"default": PagePlan("default", fields=fields)}, TrapGuards(), Steps())
    assert [problem.path for problem in refused.value.problems] == [
        "selectors.fields.a.expr", "selectors.fields.a.steps[0].use", "selectors.fields.b[0].steps[0].use"
    ]  # fmt: skip


def test_steps_are_made_once_for_all_kinds_of_items_and_pages() -> None:
    steps = Steps()
    rule = ValueRule("regex", "a", steps=({"use": "int"},))
    plan = PagePlan("default", items=(ValueRule("css", "a"), ValueRule("jmespath", "a")), fields={"x": rule})
    compile_pages({"default": plan}, TrapGuards(), steps)
    assert steps.made == ["selectors.fields.x.steps"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>1.899<p>2,50", [1899, 2.5]),
        ("<p>1.899<p>2.50", [1.899, 2.5]),
        ("<html lang=de-AT><p>1.899", [1899]),
        ("<p>1.899", [1.899]),
    ],
)
def test_steps_see_all_values_of_the_field_and_the_language_of_the_page(
    read: Read, html: str, expected: list[Any]
) -> None:
    compiler = StepCompiler(partial(resolve, STEP))
    rule = ValueRule("css", "::text", steps=({"use": "number"},))
    nested = ValueRule("css", "p", many=True, fields={"n": rule})
    for fields in ({"x": rule}, {"x": FirstOf((stepped("i", "number"), rule))}):
        extraction = read(html, items="p", fields=fields, rule_steps=compiler.compile_chain)
        assert [item["x"] for item in extraction.items] == expected
    (whole,) = read(html, fields={"x": nested}, rule_steps=compiler.compile_chain).items
    assert [each["n"] for each in whole["x"]] == expected
