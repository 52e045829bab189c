"""The steps of a rule: values are converted before there is an item."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.pages.extraction import Extraction, StepCount, ValueChange
from smartspider.core.pages.page import Page
from smartspider.interfaces.step import PageContext, ValueRejected
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve

PAGE = Page("http://h/", 200, {}, b"", "utf-8", 0.0)


def find(name: str) -> Any:
    return resolve(STEP, name)


def steps(*used: Any) -> tuple[dict[str, Any], ...]:
    return tuple({"use": step} if isinstance(step, str) else step for step in used)


def test_a_value_goes_through_all_steps(context: PageContext) -> None:
    chain = StepCompiler(find).compile_chain(steps("trim", "number"), "selectors.fields.price")
    assert chain.apply(" 1,234 ", context, 0) == 1234
    assert chain.apply([" 1 ", "x"], context, 0) == [1, None]
    assert chain.apply(None, context, 0) is None
    assert chain.kind == "number"


def test_a_step_of_a_chain_sees_the_column_as_it_receives_it(context: PageContext) -> None:
    compiler = StepCompiler(find)
    cut = {"use": "extract", "pattern": "about (.*)"}
    chain = compiler.compile_chain(steps(cut, "number"), "selectors.fields.price")
    values = ["about 1.899", "about 2,50", "none", None]
    judged = chain.for_column(values, context)
    assert [judged.apply(value, context, 0) for value in values] == [1899, 2.5, None, None]
    assert chain.apply("about 1.899", context, 0) == 1.899
    pipeline = compiler.compile_pipeline((), ())
    assert pipeline is not None
    counts = pipeline.process(Extraction([], [], "http://h/"), PAGE).counts
    assert counts["fields.price.steps[0] extract"].seen == 4
    assert counts["fields.price.steps[1] number"].seen == 3


def test_null_reaches_only_steps_that_take_it(context: PageContext) -> None:
    chain = StepCompiler(find).compile_chain(steps("trim", {"use": "default", "value": 0}), "p")
    assert chain.apply(None, context, 0) == 0


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("selectors.fields.price", "fields.price.steps[1] range"),
        ("selectors.fields.price.steps", "fields.price.steps[1] range"),
        ("selectors.fields.price[0]", "fields.price[0].steps[1] range"),
        ("pages.detail.selectors.fields.price", "pages.detail.fields.price.steps[1] range"),
    ],
)
def test_a_rejected_value_names_the_step_as_the_task_does(context: PageContext, path: str, name: str) -> None:
    chain = StepCompiler(find).compile_chain(steps("number", {"use": "range", "max": 5}), path)
    with pytest.raises(ValueRejected) as caught:
        chain.apply("9", context, 0)
    assert (caught.value.step, caught.value.reason, caught.value.value) == (name, "is above 5", 9)


def test_what_the_steps_of_rules_did_comes_out_with_the_page(context: PageContext) -> None:
    compiler = StepCompiler(find, logs_cleaning=True)
    price = compiler.compile_chain(steps("number"), "selectors.fields.price")
    name = compiler.compile_chain(steps("trim"), "pages.x.selectors.fields.seller.fields.name[1]")
    pipeline = compiler.compile_pipeline((), ())
    assert pipeline is not None
    price.apply("1", context, 0)
    price.apply("x", context, 1)
    name.apply(" a", context, 1)
    done = pipeline.process(Extraction([{"price": 1}], [], "http://h/"), PAGE)
    assert done.items == [{"price": 1}]
    assert done.counts == {
        "fields.price.steps[0] number": StepCount(seen=2, changed=1, emptied=1),
        "pages.x.fields.seller.fields.name[1].steps[0] trim": StepCount(seen=1, changed=1),
    }
    assert done.changes == [
        ValueChange(0, "fields.price.steps[0] number", "price", "1", 1),
        ValueChange(1, "fields.price.steps[0] number", "price", "x", None),
        ValueChange(1, "pages.x.fields.seller.fields.name[1].steps[0] trim", "seller.name", " a", "a"),
    ]
    again = pipeline.process(Extraction([], [], "http://h/"), PAGE)
    assert (again.counts, again.changes) == ({}, [])


def test_the_language_takes_the_place_of_a_rules_text(context: PageContext) -> None:
    chain = StepCompiler(find).compile_chain(steps("language"), "p")
    assert chain.apply("This is a plain English sentence.", context, 0) == "en"
    assert chain.apply("12", context, 0) is None


def test_a_template_puts_a_rules_value_in(context: PageContext) -> None:
    chain = StepCompiler(find).compile_chain(steps({"use": "template", "text": "id-{value}"}), "p")
    assert chain.apply(["1", 2], context, 0) == ["id-1", "id-2"]


def test_a_chain_without_steps_changes_nothing(context: PageContext) -> None:
    compiler = StepCompiler(find)
    chain = compiler.compile_chain((), "p")
    assert chain.apply("x", context, 0) == "x"
    assert chain.kind is None
    assert compiler.compile_pipeline((), ()) is None
