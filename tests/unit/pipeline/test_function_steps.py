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


def unstorable(document):
    return object()


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
    assert extract(task_with(tmp_path, steps=["./steps.py:enormous"])).items == [{"title": None}]


def test_a_key_that_cannot_be_stored_rejects_its_item(tmp_path: Path) -> None:
    found = extract(task_with(tmp_path, pipeline=["./steps.py:odd_key"]))
    assert found.rejected[0].step == "pipeline[0] steps.py:odd_key"


def test_a_result_that_cannot_be_stored_breaks_the_page(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"steps\.py:unstorable"):
        extract(task_with(tmp_path, x={"type": "./steps.py:unstorable"}))


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
