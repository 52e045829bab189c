"""Steps that installed packages add."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.errors import Problem
from smartspider.core.pages.extraction import Extraction

SOURCE = r"""
from smartspider.interfaces.step import StepFailed


class Double:
    kind = "number"
    takes_null = takes_lists = is_check = False

    def __init__(self, *, times: int = 2):
        if times < 0:
            raise ValueError("times is negative")
        self.times = times

    def apply(self, value, context):
        if value == "break":
            raise ZeroDivisionError("by a plug-in")
        if not isinstance(value, (int, list, str)):
            raise StepFailed("cannot be doubled")
        return value * self.times


class Stamp:
    def __init__(self, **options):
        self.options = options

    def apply_item(self, item, context):
        return {**item, "stamp": context.url, **self.options}

    def columns(self, columns):
        return columns


class Foreign:
    kind = None
    takes_null = takes_lists = is_check = False

    def apply(self, value, context):
        return {"set": {1}, "nan": float("nan"), "bad": "\ud800", "key": {1: 2}, "deep": [{"x": (1,)}]}[value]


class BadItem:
    def apply_item(self, item, context):
        return [item]

    def columns(self, columns):
        return columns


def no_step():
    return 5
"""

POINTS = """[smartspider.steps]
double = spider_steps:Double
stamp = spider_steps:Stamp
foreign = spider_steps:Foreign
bad_item = spider_steps:BadItem
no_step = spider_steps:no_step
trim = spider_steps:Double
"""

Run = Callable[..., Extraction]
Wrong = Callable[..., list[Problem]]


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "spider_steps.py").write_text(SOURCE)
    info = tmp_path / "spider_steps-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: spider-steps\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("spider_steps", None)


def test_a_plug_in_is_a_step_like_any_other(run: Run) -> None:
    done = run(
        ["trim", {"use": "double", "fields": ["a"], "times": 3}], {"a": " x ", "b": 1}, {"a": 2.5, "b": 1}
    )
    assert done.items == [{"a": "xxx", "b": 1}, {"a": None, "b": 1}]
    assert done.counts["pipeline[1] double"].emptied == 1


def test_a_plug_in_may_work_on_whole_items(run: Run) -> None:
    done = run([{"use": "stamp", "colour": "red"}], {"a": 1})
    assert done.items == [{"a": 1, "stamp": "http://shop.example/list/page", "colour": "red"}]


def test_a_plug_in_that_breaks_costs_its_item_and_no_other(run: Run) -> None:
    done = run(["double"], {"a": 1}, {"a": "break"}, {"a": 2})
    assert done.items == [{"a": 2}, {"a": 4}]
    (rejected,) = done.rejected
    assert (rejected.reason, rejected.value) == (
        "a caused an error in the step: ZeroDivisionError: by a plug-in",
        "break",
    )


@pytest.mark.parametrize("value", ["nan", "bad"])
def test_what_no_store_can_hold_does_not_come_out_of_a_plug_in(run: Run, value: str) -> None:
    done = run(["foreign"], {"a": value})
    assert "cannot be stored" in done.rejected[0].reason


@pytest.mark.parametrize(("value", "stored"), [("set", [1]), ("key", {"1": 2}), ("deep", [{"x": [1]}])])
def test_what_json_writes_comes_out_of_a_plug_in_as_json_writes_it(
    run: Run, value: str, stored: object
) -> None:
    assert run(["foreign"], {"a": value}).items == [{"a": stored}]


def test_an_item_stays_an_item(run: Run) -> None:
    assert "became list, not an item" in run(["bad_item"], {"a": 1}).rejected[0].reason


@pytest.mark.parametrize(
    ("step", "path", "message"),
    [
        ({"use": "double", "times": "3"}, "pipeline[0].times", "expected `int`, got `str`"),
        ({"use": "double", "tims": 3}, "pipeline[0].tims", "unknown key 'tims'"),
        (
            {"use": "double", "times": -1},
            "pipeline[0]",
            "the step 'double' rejects its options: times is negative",
        ),
        ({"use": "no_step"}, "pipeline[0]", "the plug-in 'no_step' did not return a step"),
        ({"use": "stamp", "fields": ["a"]}, "pipeline[0].fields", "the step 'stamp' works on whole items"),
        ({"use": "dobule"}, "pipeline[0]", "there is no step 'dobule'"),
    ],
)
def test_a_plug_in_used_wrongly_is_a_problem_of_the_task(
    wrong: Wrong, step: dict[str, Any], path: str, message: str
) -> None:
    problem = wrong([step])[0]
    assert problem.path == path
    assert message in problem.message
