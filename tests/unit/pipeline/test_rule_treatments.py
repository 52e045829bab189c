"""The steps of a rule: values treated before there is an item."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.pages.extraction import Extraction, StepCount, ValueChange
from smartspider.core.pages.page import Page
from smartspider.interfaces.step import Around, Refused
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve

PAGE = Page("http://h/", 200, {}, b"", "utf-8", 0.0)


def find(name: str) -> Any:
    return resolve(STEP, name)


def steps(*used: Any) -> tuple[dict[str, Any], ...]:
    return tuple({"use": step} if isinstance(step, str) else step for step in used)


def test_a_value_goes_through_all_steps(around: Around) -> None:
    treatment = StepCompiler(find).rule_steps(steps("trim", "number"), "selectors.fields.price")
    assert treatment.treat(" 1,234 ", around, 0) == 1234
    assert treatment.treat([" 1 ", "x"], around, 0) == [1, None]
    assert treatment.treat(None, around, 0) is None
    assert treatment.kind == "number"


def test_null_reaches_only_steps_that_take_it(around: Around) -> None:
    treatment = StepCompiler(find).rule_steps(steps("trim", {"use": "default", "value": 0}), "p")
    assert treatment.treat(None, around, 0) == 0


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("selectors.fields.price", "fields.price.steps[1] range"),
        ("selectors.fields.price.steps", "fields.price.steps[1] range"),
        ("selectors.fields.price[0]", "fields.price[0].steps[1] range"),
        ("pages.detail.selectors.fields.price", "pages.detail.fields.price.steps[1] range"),
    ],
)
def test_a_refused_value_names_the_step_as_the_task_has_it(around: Around, path: str, name: str) -> None:
    treatment = StepCompiler(find).rule_steps(steps("number", {"use": "range", "max": 5}), path)
    with pytest.raises(Refused) as caught:
        treatment.treat("9", around, 0)
    assert (caught.value.step, caught.value.reason, caught.value.value) == (name, "is above 5", 9)


def test_what_the_steps_of_rules_did_comes_out_with_the_page(around: Around) -> None:
    compiler = StepCompiler(find, logs_cleaning=True)
    price = compiler.rule_steps(steps("number"), "selectors.fields.price")
    name = compiler.rule_steps(steps("trim"), "pages.x.selectors.fields.seller.fields.name[1]")
    pipeline = compiler.pipeline((), ())
    assert pipeline is not None
    price.treat("1", around, 0)
    price.treat("x", around, 1)
    name.treat(" a", around, 1)
    done = pipeline.treat(Extraction([{"price": 1}], [], "http://h/"), PAGE)
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
    again = pipeline.treat(Extraction([], [], "http://h/"), PAGE)
    assert (again.counts, again.changes) == ({}, [])


def test_the_language_takes_the_place_of_a_rules_text(around: Around) -> None:
    treatment = StepCompiler(find).rule_steps(steps("language"), "p")
    assert treatment.treat("This is a plain English sentence.", around, 0) == "en"
    assert treatment.treat("12", around, 0) is None


def test_a_template_puts_a_rules_value_in(around: Around) -> None:
    treatment = StepCompiler(find).rule_steps(steps({"use": "template", "text": "id-{value}"}), "p")
    assert treatment.treat(["1", 2], around, 0) == ["id-1", "id-2"]


def test_a_treatment_without_steps_changes_nothing(around: Around) -> None:
    compiler = StepCompiler(find)
    treatment = compiler.rule_steps((), "p")
    assert treatment.treat("x", around, 0) == "x"
    assert treatment.kind is None
    assert compiler.pipeline((), ()) is None
