"""Task files to start from."""

from __future__ import annotations

import json

import pytest

from smartspider.core.errors import NotFound, TaskInvalid
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.template import render_template, template_names


def test_there_is_one_for_lists_and_one_for_lists_with_details() -> None:
    assert template_names() == ["list", "list_detail"]


@pytest.mark.parametrize("name", ["list", "list_detail"])
def test_every_template_validates_compiles_and_is_polite(name: str) -> None:
    plan = compile_task(parse_task(json.loads(render_template(name, url=None, task_name=None))))
    assert plan.name == name
    assert plan.entries[0].url == "http://127.0.0.1:8000/"
    assert plan.columns
    assert plan.overrides == ()


@pytest.mark.parametrize("name", ["list", "list_detail"])
def test_url_and_name_are_put_in_and_the_layout_stays(name: str) -> None:
    plain = render_template(name, url=None, task_name=None)
    text = render_template(name, url='https://a.com/?q="x"', task_name="mine")
    task = json.loads(text)
    assert task["name"] == "mine"
    assert task["entry_urls"] == ['https://a.com/?q="x"']
    assert text.count("\n") == plain.count("\n")


def test_what_would_not_be_a_task_is_refused() -> None:
    with pytest.raises(TaskInvalid, match="entry_urls"):
        render_template("list", url="a.com", task_name=None)
    with pytest.raises(TaskInvalid, match="name"):
        render_template("list", url=None, task_name="a/b")


def test_an_unknown_template_is_not_found() -> None:
    with pytest.raises(NotFound) as caught:
        render_template("lists", url=None, task_name=None)
    assert caught.value.hint == "templates: list, list_detail"
