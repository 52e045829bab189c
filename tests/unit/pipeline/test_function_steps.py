"""Functions of Python files beside a task, as steps and rules."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.errors import NotBuilt, NotReadable, TaskInvalid
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.services.plans import compile_plan, plan_columns
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import load_task, parse_spec, parse_task

FUNCTIONS = '''
"""Steps of a test."""
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal

from smartspider.interfaces.step import StepFailed


def shout(value, *, mark: str = "!"):
    return value.upper() + mark


def place(value, context):
    return f"{value}@{context.url}"


def strict(value):
    if value != "good":
        raise StepFailed("is not good")
    return value


def crash(value):
    return {}["missing"]


def leave(value):
    raise SystemExit(1)


def interrupt(value):
    raise KeyboardInterrupt


def leave_item(item):
    raise SystemExit(1)


def leave_page(document):
    raise SystemExit(1)


def enormous(value):
    return 10**5000


def odd_key(item):
    item["\\ud800"] = 1


def whole(item, *, factor=2):
    item["twice"] = len(item["title"]) * factor


def shape(document):
    return {"heading": document.root.css_first("h1").text(), "path": document.page.url}


def circle():
    found = []
    found.append(found)
    return found


class Text(str):
    pass


VALUES = {
    "date": date(2026, 2, 3),
    "datetime": datetime(2026, 2, 3, 4, 5, 6, tzinfo=timezone.utc),
    "price": Decimal("19.90"),
    "whole": Decimal("1.2E+3"),
    "long": Decimal("0.12345678901234567890123"),
    "money_nan": Decimal("NaN"),
    "set": {"b", "a"},
    "mixed": frozenset([1, "a"]),
    "tuple": (1, None),
    "keys": {1: date(2026, 2, 3), "true": None},
    "subclass": Text("text"),
    "big": 2**70,
    "nan": float("nan"),
    "infinity": [{"x": float("-inf")}],
    "thing": object(),
    "surrogate": "\\ud800",
    "circle": circle(),
    "bytes": b"x",
}


def give(value, *, what: str):
    return VALUES[what]


def fill(item, *, what: str):
    item["added"] = VALUES[what]


for name in VALUES:
    globals()[f"rule_{name}"] = lambda document, name=name: VALUES[name]


def spoil(item):
    item["tags"].append(object())


class Mumbled(Exception):
    def __str__(self):
        raise SystemExit(0)


def mumble(value):
    raise Mumbled


class Leaving:
    def __init__(self):
        raise SystemExit(0)


def say(value):
    print("noise say")
    return value


def say_item(item):
    print("noise say_item")


def say_page(document):
    print("noise say_page")
    return "said"


class Saying:
    kind = None
    takes_null = takes_lists = is_check = False

    def __init__(self):
        print("noise made")

    def apply(self, value, context):
        if value == "good":
            print("noise Saying")
        return value


class Suffix:
    kind = None
    takes_null = takes_lists = is_check = False

    def __init__(self, *, text: str) -> None:
        self._text = text

    def apply(self, value, context):
        return value + self._text


not_a_function = 3
def nothing():
    return 1
'''


def task_with(folder: Path, *, steps: list[Any] = [], pipeline: list[Any] = [], **fields: Any) -> Path:  # noqa: B006 - never changed
    (folder / "steps.py").write_text(FUNCTIONS)
    path = folder / "task.json"
    rules = {"title": {"expr": "h1::text", "steps": steps}, **fields}
    task = {
        "name": "t",
        "entry_urls": ["https://h.example/"],
        "selectors": {"fields": rules},
        "pipeline": pipeline,
    }
    path.write_text(json.dumps(task))
    return path


def extract(path: Path) -> Extraction:
    plan = compile_task(load_task(path))
    compiled = compile_plan(plan, is_local=True)
    page = Page("https://h.example/", 200, {"content-type": "text/html"}, b"<h1>good</h1>", "utf-8", 0.0)
    found = compiled.extractor.extract(page, make_request(page.url))
    return found if compiled.pipeline is None else compiled.pipeline.process(found, page)


@pytest.mark.parametrize(
    ("step", "title"),
    [
        ("./steps.py:shout", "GOOD!"),
        ({"use": "./steps.py:shout", "mark": "?"}, "GOOD?"),
        ("steps.py:place", "good@https://h.example/"),
        ("./steps.py:strict", "good"),
        ({"use": "./steps.py:Suffix", "text": "-x"}, "good-x"),
    ],
)
def test_a_function_is_a_step_of_a_rule_and_of_the_pipeline(tmp_path: Path, step: Any, title: str) -> None:
    assert extract(task_with(tmp_path, steps=[step])).items == [{"title": title}]
    assert extract(task_with(tmp_path, pipeline=[step])).items == [{"title": title}]


def test_a_function_of_an_item_adds_fields(tmp_path: Path) -> None:
    path = task_with(tmp_path, pipeline=[{"use": "./steps.py:whole", "adds": ["twice"], "factor": 3}])
    assert extract(path).items == [{"title": "good", "twice": 12}]
    assert [column.name for column in plan_columns(compile_task(load_task(path)))] == ["title", "twice"]


def test_a_function_is_a_rule(tmp_path: Path) -> None:
    path = task_with(
        tmp_path, all={"type": "./steps.py:shape"}, part={"type": "./steps.py:shape", "expr": "heading"}
    )
    (item,) = extract(path).items
    assert item["part"] == "good"
    assert item["all"] == {"heading": "good", "path": "https://h.example/"}


def test_an_error_in_a_step_rejects_the_item_and_names_the_step(tmp_path: Path) -> None:
    (rejected,) = extract(task_with(tmp_path, pipeline=["./steps.py:crash"])).rejected
    assert rejected.step == "pipeline[0] steps.py:crash"
    assert "KeyError" in rejected.reason


@pytest.fixture
def handled_interrupts() -> Iterator[None]:
    """Handle SIGINT as an event loop does."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handled_interrupts")
@pytest.mark.parametrize(
    ("function", "error"),
    [("leave", "SystemExit"), ("interrupt", "KeyboardInterrupt"), ("leave_item", "SystemExit")],
)
def test_a_function_that_leaves_the_program_rejects_its_item(
    tmp_path: Path, function: str, error: str
) -> None:
    (rejected,) = extract(task_with(tmp_path, pipeline=[f"./steps.py:{function}"])).rejected
    assert error in rejected.reason


def test_a_rule_that_leaves_the_program_breaks_its_page(tmp_path: Path) -> None:
    with pytest.raises(NotReadable, match=r"steps\.py:leave_page raised SystemExit"):
        extract(task_with(tmp_path, x={"type": "./steps.py:leave_page"}))


def test_a_pressed_ctrl_c_is_not_taken_for_an_error_of_the_function(tmp_path: Path) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        extract(task_with(tmp_path, pipeline=["./steps.py:interrupt"]))


def test_an_integer_that_no_format_holds_is_an_error_of_its_step(tmp_path: Path) -> None:
    found = extract(task_with(tmp_path, pipeline=[{"use": "./steps.py:enormous", "on_error": "reject"}]))
    assert "digits" in found.rejected[0].reason
    in_rule = extract(task_with(tmp_path, steps=["./steps.py:enormous"]))
    assert (in_rule.items, "digits" in in_rule.rejected[0].reason) == ([], True)


def test_a_key_that_cannot_be_stored_rejects_its_item(tmp_path: Path) -> None:
    found = extract(task_with(tmp_path, pipeline=["./steps.py:odd_key"]))
    assert found.rejected[0].step == "pipeline[0] steps.py:odd_key"


@pytest.mark.parametrize("on_error", [None, "null", "keep"])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("nan", "NaN"),
        ("infinity", "-infinity"),
        ("thing", "type object"),
        ("surrogate", "surrogate"),
        ("circle", "nested too deep"),
        ("money_nan", "NaN"),
        ("bytes", "type bytes"),
    ],
)
def test_a_result_that_cannot_be_stored_rejects_its_item(
    tmp_path: Path, value: str, reason: str, on_error: str | None
) -> None:
    step = {"use": "./steps.py:give", "what": value, **({"on_error": on_error} if on_error else {})}
    for places in ({"steps": [step]}, {"pipeline": [step]}):
        found = extract(task_with(tmp_path, **places))
        (rejected,) = found.rejected
        assert found.items == []
        assert rejected.reason.startswith("title became ")
        assert reason in rejected.reason
        assert rejected.item == {"title": "good"}
        assert rejected.step.endswith("steps.py:give")
        assert sum(count.rejected for count in found.counts.values()) == 1


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("date", "2026-02-03"),
        ("datetime", "2026-02-03T04:05:06+00:00"),
        ("price", 19.9),
        ("whole", 1200),
        ("long", "0.12345678901234567890123"),
        ("set", ["a", "b"]),
        ("mixed", [1, "a"]),
        ("tuple", [1, None]),
        ("keys", {"1": "2026-02-03", "true": None}),
        ("subclass", "text"),
        ("big", 2**70),
    ],
)
def test_a_result_is_converted_as_json_does_it(tmp_path: Path, value: str, stored: object) -> None:
    step = {"use": "./steps.py:give", "what": value}
    assert extract(task_with(tmp_path, pipeline=[step])).items == [{"title": stored}]
    (item,) = extract(task_with(tmp_path, pipeline=[{"use": "./steps.py:fill", "what": value}])).items
    assert (item["added"], type(item["added"])) == (stored, type(stored))
    (item,) = extract(task_with(tmp_path, x={"type": f"./steps.py:rule_{value}"})).items
    assert item["x"] == stored


def test_a_rule_whose_result_cannot_be_stored_rejects_its_item(tmp_path: Path) -> None:
    (rejected,) = extract(task_with(tmp_path, x={"type": "./steps.py:rule_thing"})).rejected
    assert (rejected.field, rejected.step) == ("x", "steps.py:rule_thing")
    assert rejected.reason == "x became a value of type object, which cannot be stored"


def test_a_rule_for_items_whose_result_cannot_be_stored_breaks_the_page(tmp_path: Path) -> None:
    path = task_with(tmp_path, x={"type": "jmespath", "expr": "a"})
    task = json.loads(path.read_text())
    task["selectors"] = {
        "items": {"type": "./steps.py:rule_thing"},
        "fields": {"x": task["selectors"]["fields"]["x"]},
    }
    path.write_text(json.dumps(task))
    with pytest.raises(NotReadable, match="type object"):
        extract(path)


def test_a_rejected_item_is_kept_as_it_was_before_the_function(tmp_path: Path) -> None:
    path = task_with(tmp_path, pipeline=["./steps.py:spoil"], tags={"type": "const", "expr": ["a"]})
    (rejected,) = extract(path).rejected
    assert rejected.item == {"title": "good", "tags": ["a"]}


def test_an_error_without_a_readable_message_rejects_its_item(tmp_path: Path) -> None:
    (rejected,) = extract(task_with(tmp_path, pipeline=["./steps.py:mumble"])).rejected
    assert rejected.reason == "title caused an error in the step: Mumbled"


def test_a_plug_in_whose_constructor_leaves_the_program_is_a_problem_of_the_task(tmp_path: Path) -> None:
    with pytest.raises(TaskInvalid, match="rejects its options: SystemExit: 0"):
        extract(task_with(tmp_path, steps=["./steps.py:Leaving"]))


def test_what_a_function_prints_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [{"use": f"./steps.py:{name}", "fields": ["title"]} for name in ("say", "Saying")]
    path = task_with(tmp_path, pipeline=[*steps, "./steps.py:say_item"], x={"type": "./steps.py:say_page"})
    assert extract(path).items == [{"title": "good", "x": "said"}]
    out, err = capsys.readouterr()
    assert out == ""
    assert [line for line in err.splitlines() if line.startswith("noise ")] == [
        f"noise {name}" for name in ("made", "say_page", "say", "Saying", "say_item")
    ]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("./steps.py:shuot", "shuot"),
        ("./steps.py:not_a_function", "not a function"),
        ("./steps.py:nothing", "takes no value"),
        ({"use": "./steps.py:shout", "marc": "?"}, "marc"),
        ("./absent.py:x", "absent.py"),
    ],
)
def test_a_wrong_reference_is_reported_with_its_place(tmp_path: Path, step: Any, message: str) -> None:
    with pytest.raises(TaskInvalid) as caught:
        extract(task_with(tmp_path, steps=[step]))
    problem = caught.value.problems[0]
    assert problem.path.startswith("selectors.fields.title.steps[0]")
    assert message in problem.message


@pytest.mark.parametrize(
    ("source", "line"), [("x = 1\ndef f(:\n", 2), ("\n\nimport no_such_module_here\n", 3), ("1 / 0", 1)]
)
def test_an_error_in_the_file_names_its_line(tmp_path: Path, source: str, line: int) -> None:
    path = task_with(tmp_path, steps=["./broken.py:f"])
    (tmp_path / "broken.py").write_text(source)
    with pytest.raises(TaskInvalid, match=rf"broken\.py, line {line}: "):
        extract(path)


def test_the_file_is_part_of_the_identity_and_its_folder_is_not(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    hashes = [
        compile_task(load_task(task_with(folder, steps=["./steps.py:shout"]))).spec_hash
        for folder in (one, two)
    ]
    assert hashes[0] == hashes[1]
    path = task_with(two, steps=["./steps.py:shout"])
    (two / "steps.py").write_text(FUNCTIONS + "\n# edited\n")
    assert compile_task(load_task(path)).spec_hash != hashes[0]


def test_an_edited_file_does_not_change_a_run_that_began(tmp_path: Path) -> None:
    plan = compile_task(load_task(task_with(tmp_path, steps=["./steps.py:shout"])))
    (tmp_path / "steps.py").write_text(FUNCTIONS + "\n# edited after the start\n")
    with pytest.raises(TaskInvalid, match="edited since the run began"):
        compile_plan(compile_task(parse_spec(plan.spec)), is_local=True)


@pytest.mark.parametrize(
    "part",
    [
        {"pipeline": ["./steps.py:shout"]},
        {"pipeline": [{"use": "/etc/x.py:shout"}]},
        {"selectors": {"fields": {"a": {"type": "./steps.py:shape"}}}},
        {"pages": {"p": {"selectors": {"items": {"type": "x.py:shape"}}}}},
        {"selectors": {"fields": {"a": [{"expr": "a", "steps": ["x.py:f"]}]}}},
        {"$functions": {"folder": "/", "files": {}}},
    ],
)
def test_a_task_from_elsewhere_cannot_name_functions(part: dict[str, Any]) -> None:
    with pytest.raises(TaskInvalid):
        parse_task({"name": "t", "entry_urls": ["https://h.example/"], **part})


def test_a_task_file_cannot_claim_digests(tmp_path: Path) -> None:
    path = task_with(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "$functions": {"folder": "/", "files": {}}}))
    with pytest.raises(TaskInvalid, match="set by the program"):
        load_task(path)


def test_a_server_does_not_run_functions_of_a_stored_run(tmp_path: Path) -> None:
    plan = compile_task(load_task(task_with(tmp_path, steps=["./steps.py:shout"])))
    with pytest.raises(NotBuilt, match="only local commands"):
        compile_plan(compile_task(parse_spec(plan.spec)))
