"""Task files to start from."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from smartspider.core.errors import NotFound, TaskInvalid
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task, read_document
from smartspider.taskfile.template import TEMPLATES, render_template


def test_every_template_is_a_file_and_every_file_is_listed() -> None:
    folder = files("smartspider.taskfile").joinpath("templates")
    assert sorted(f"{name}.json" for name in TEMPLATES) == sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_validates_compiles_and_is_polite(name: str) -> None:
    plan = compile_task(parse_task(json.loads(render_template(name, url=None, task_name=None))))
    assert plan.name == name
    assert plan.entries[0].url.startswith("http://127.0.0.1:8800/")
    assert plan.politeness.delay_s == 0.5
    assert plan.limits.max_pages == 100
    assert plan.overrides == ()


@pytest.mark.parametrize("name", TEMPLATES)
def test_url_and_name_are_put_in_and_the_layout_stays(name: str) -> None:
    plain = render_template(name, url=None, task_name=None)
    text = render_template(name, url='https://a.com/?q="x"', task_name="mine")
    task = json.loads(text)
    assert task["name"] == "mine"
    assert [one if isinstance(one, str) else one["url"] for one in task["entry_urls"]] == [
        'https://a.com/?q="x"'
    ]
    assert "127.0.0.1" not in text
    assert text.count("\n") == plain.count("\n")


def test_what_would_not_be_a_task_is_refused() -> None:
    with pytest.raises(TaskInvalid, match="entry_urls"):
        render_template("list", url="a.com", task_name=None)
    with pytest.raises(TaskInvalid, match="name"):
        render_template("list", url=None, task_name="a/b")


def test_an_unknown_template_is_not_found() -> None:
    with pytest.raises(NotFound) as caught:
        render_template("lists", url=None, task_name=None)
    lines = caught.value.hint.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(TEMPLATES)
    assert lines[0] == "  list         items of a paginated list"


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_the_same_task_as_yaml(name: str) -> None:
    written = render_template(name, url="http://h/é", task_name="mine", as_yaml=True)
    as_json = json.loads(render_template(name, url="http://h/é", task_name="mine"))
    assert not written.lstrip().startswith("{")
    assert read_document(written, "t.yaml") == as_json
