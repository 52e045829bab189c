"""Everything that is wrong with the steps of a task is said at once, with path and hint."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.errors import NotBuilt, Problem, TaskInvalid
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins import registry
from smartspider.plugins.kinds import STEP

Wrong = Callable[..., list[Problem]]


def find(name: str) -> Any:
    return registry.resolve(STEP, name)


@pytest.mark.parametrize(
    ("step", "path", "message", "hint"),
    [
        ("trimm", "pipeline[0]", "there is no step 'trimm'", "'trim'"),
        (
            {"use": "nubmer", "fields": ["a"]},
            "pipeline[0].use",
            "there is no step 'nubmer'",
            "'number'",
        ),
        (
            {"use": "replace", "patern": "x"},
            "pipeline[0].pattern",
            "the key 'pattern' is missing",
            "pattern, with",
        ),
        (
            {"use": "trim", "feilds": ["a"]},
            "pipeline[0].feilds",
            "unknown key 'feilds'",
            "did you mean 'fields'?",
        ),
        ({"use": "trim", "x": 1}, "pipeline[0].x", "unknown key 'x'", "the step takes no options"),
        ({"use": "split", "sep": 1}, "pipeline[0].sep", "1 is invalid: expected `str`, got `int`", ""),
        ({"use": "split", "sep": ""}, "pipeline[0].sep", "is empty", "separator"),
        ({"use": "unicode", "form": "NFX"}, "pipeline[0].form", '"NFX" is invalid: invalid enum value', ""),
        (
            {"use": "replace", "pattern": "a("},
            "pipeline[0].pattern",
            "unterminated subpattern at position 1",
            "",
        ),
        (
            {"use": "replace", "pattern": "a", "with": r"\2"},
            "pipeline[0].with",
            "invalid group reference 2",
            "",
        ),
        (
            {"use": "matches", "pattern": "*"},
            "pipeline[0].pattern",
            "nothing to repeat at position 0",
            "literal dot",
        ),
        ({"use": "range"}, "pipeline[0]", "needs 'min', 'max' or both", ""),
        ({"use": "range", "min": 5, "max": 1}, "pipeline[0].min", "5 is above max (1)", ""),
        ({"use": "range", "min": 5, "max": "x"}, "pipeline[0].max", "is not of the type of min", ""),
        ({"use": "length", "min": -1}, "pipeline[0].min", "-1 is below 0", ""),
        (
            {"use": "length", "max": 1.5},
            "pipeline[0].max",
            "1.5 is invalid: expected `int | null`, got `float`",
            "",
        ),
        ({"use": "type", "is": "txt"}, "pipeline[0].is", '"txt" is not a type', "one of text, number"),
        ({"use": "enum", "values": []}, "pipeline[0].values", "is empty", ""),
        ({"use": "map", "values": {}}, "pipeline[0].values", "is empty", ""),
        ({"use": "number", "locale": "xx"}, "pipeline[0].locale", "'xx' is not a known locale", ""),
        ({"use": "phone", "region": "XX"}, "pipeline[0].region", "'XX' is not a region", "'DE'"),
        (
            {"use": "date", "timezone": "Mars/X"},
            "pipeline[0].timezone",
            "'Mars/X' is not a time zone",
            "IANA",
        ),
        ({"use": "date", "timezone": "../etc"}, "pipeline[0].timezone", "is not a time zone", ""),
        ({"use": "date", "formats": ["%Q"]}, "pipeline[0].formats", "'%Q' is not a date format", "'%d.%m.%Y"),
        ({"use": "date", "formats": ["%H:%M"]}, "pipeline[0].formats", "has no day and no year", ""),
        ({"use": "date", "languages": ["xx"]}, "pipeline[0].languages", "'xx' is not a known language", ""),
        (
            {"use": "schema", "json_schema": {"type": 5}},
            "pipeline[0].json_schema",
            "is not a JSON Schema at ['type']",
            "",
        ),
        (
            {"use": "schema", "json_schema": {"$ref": "http://x/"}},
            "pipeline[0].json_schema",
            "it refers to",
            "inside",
        ),
        (
            {"use": "trim", "on_error": "ignore"},
            "pipeline[0].on_error",
            "is not one of null, keep, reject",
            "",
        ),
        ({"use": "trim", "fields": []}, "pipeline[0].fields", "is empty", "all fields"),
        (
            {"use": "trim", "fields": ["aa"]},
            "pipeline[0].fields[0]",
            "there is no field 'aa'",
            "did you mean 'a'?",
        ),
        (
            {"use": "trim", "fields": ["a", "zz"]},
            "pipeline[0].fields[1]",
            "there is no field 'zz'",
            "known: a, b, c",
        ),
        ({"use": "trim", "fields": ["z.x"]}, "pipeline[0].fields[0]", "there is no field 'z.x'", ""),
        ({"use": "drop"}, "pipeline[0].fields", "the key 'fields' is missing", ""),
        (
            {"use": "template", "text": "x"},
            "pipeline[0].fields",
            "the key 'fields' is missing",
            "the field to write",
        ),
        (
            {"use": "template", "text": "{zz}", "fields": ["t"]},
            "pipeline[0].text",
            "there is no field 'zz'",
            "",
        ),
        (
            {"use": "template", "text": "{a}", "fields": ["b.x"]},
            "pipeline[0].fields",
            "writes whole fields",
            "",
        ),
        ({"use": "rename", "to": "z"}, "pipeline[0].fields", "a new name needs exactly one field", ""),
        ({"use": "rename", "fields": ["a"], "to": "b"}, "pipeline[0].to", "there already is a field 'b'", ""),
        ({"use": "rename", "to": {"a": "z", "b": "z"}}, "pipeline[0].to", "gives two fields one name", ""),
        ({"use": "rename", "to": {"zz": "z"}}, "pipeline[0].to.zz", "there is no field 'zz'", ""),
        ({"use": "rename", "fields": ["a"], "to": ""}, "pipeline[0].to", "is empty", ""),
        ({"use": "unique", "fields": ["a.b"]}, "pipeline[0].fields", "whole fields are compared", ""),
    ],
)
def test_a_wrong_step_is_named_with_its_path_and_what_to_try(
    wrong: Wrong, step: Any, path: str, message: str, hint: str
) -> None:
    problem = wrong([step])[0]
    assert problem.path == path
    assert message in problem.message
    assert hint in problem.hint


def test_all_problems_are_found_at_once(wrong: Wrong) -> None:
    steps = [
        "trimm",
        {"use": "replace", "patern": "x", "wiht": "y"},
        {"use": "range", "fields": ["q"], "max": 1},
    ]
    assert [problem.path for problem in wrong(steps)] == [
        "pipeline[0]",
        "pipeline[1].pattern",
        "pipeline[1].patern",
        "pipeline[1].wiht",
        "pipeline[2].fields[0]",
    ]


def test_fields_are_those_that_earlier_steps_leave(wrong: Wrong) -> None:
    steps = [
        {"use": "rename", "fields": ["a"], "to": "z"},
        {"use": "template", "fields": ["t"], "text": "{z}"},
        {"use": "drop", "fields": ["b"]},
        {"use": "trim", "fields": ["a", "b", "z", "t"]},
    ]
    assert [problem.path for problem in wrong(steps)] == ["pipeline[3].fields[0]", "pipeline[3].fields[1]"]


def test_what_is_compared_must_not_be_dropped_later(wrong: Wrong) -> None:
    steps = [
        {"use": "unique", "fields": ["a"]},
        {"use": "rename", "fields": ["a"], "to": "z"},
        {"use": "drop", "fields": ["z"]},
    ]
    (problem,) = wrong(steps)
    assert (problem.path, problem.message) == ("pipeline[0].fields", "the field 'a' is dropped later")


@pytest.mark.parametrize(
    ("use", "package"), [("markdown", "markdownify"), ("schema", "jsonschema"), ("language", "py3langid")]
)
def test_a_step_whose_package_is_missing_says_how_to_install_it(
    wrong: Wrong, monkeypatch: pytest.MonkeyPatch, use: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (problem,) = wrong([use])
    assert package in problem.message
    assert problem.hint == 'pip install "smartspider-crawler[text]"'


@pytest.mark.parametrize(
    ("step", "path", "message"),
    [
        (
            {"use": "rename", "to": {"a": "b"}},
            "selectors.fields.p.steps[0]",
            "the step 'rename' works on whole items",
        ),
        ({"use": "unique"}, "selectors.fields.p.steps[0]", "the step 'unique' works on whole items"),
        (
            {"use": "trim", "fields": ["a"]},
            "selectors.fields.p.steps[0].fields",
            "the steps of a rule work on its value",
        ),
        (
            {"use": "number", "currency": "c"},
            "selectors.fields.p.steps[0].currency",
            "has no other field to write to",
        ),
        ({"use": "language", "to": "c"}, "selectors.fields.p.steps[0].to", "has no other field to write to"),
        ({"use": "nope"}, "selectors.fields.p.steps[0]", "there is no step 'nope'"),
        ({"use": "replace", "pattern": "("}, "selectors.fields.p.steps[0].pattern", "at position 0"),
    ],
)
def test_a_wrong_step_of_a_rule_is_named_at_the_rule(step: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(TaskInvalid) as caught:
        StepCompiler(find).compile_chain((step,), "selectors.fields.p")
    (problem,) = caught.value.problems
    assert problem.path == path
    assert message in problem.message


def test_a_step_that_cannot_be_loaded_is_a_problem_of_the_task() -> None:
    def find_nothing(name: str) -> Any:
        raise NotBuilt(f"{name} is broken", hint="mend it")

    with pytest.raises(TaskInvalid) as caught:
        StepCompiler(find_nothing).compile_pipeline(({"use": "x"},), ())
    assert (caught.value.problems[0].message, caught.value.hint) == ("x is broken", "mend it")
