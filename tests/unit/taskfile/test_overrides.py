"""`--set a.b=JSON`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.taskfile.load import apply_overrides, load_task
from smartspider.taskfile.model.task import Task


@pytest.fixture
def file(tmp_path: Path, small: dict[str, Any]) -> Path:
    file = tmp_path / "task.json"
    file.write_text(json.dumps({**small, "follow": [{"selector": "a"}]}), encoding="utf-8")
    return file


def refused(file: Path, *settings: str) -> tuple[str, str, str]:
    with pytest.raises(TaskInvalid) as caught:
        load_task(file, settings)
    (problem,) = caught.value.problems
    return problem.path, problem.message, problem.hint


def test_a_setting_makes_the_sections_it_needs(file: Path) -> None:
    assert load_task(file, ["limits.max_pages=7"]).limits.max_pages == 7


def test_values_are_json_or_else_text(file: Path) -> None:
    task = load_task(
        file, ["name=other", 'account_pool="3"', "concurrency=3", "schedule=null", 'scope={"deny": ["x"]}']
    )
    assert (task.name, task.account_pool, task.concurrency, task.scope.deny) == ("other", "3", 3, ["x"])


def test_a_value_may_hold_an_equals_sign(file: Path) -> None:
    assert load_task(file, ["entry_urls.0=http://a/?b=c"]).entry_urls == ["http://a/?b=c"]


@pytest.mark.parametrize("path", ["follow.0.priority", "follow[0].priority"])
def test_numbers_in_a_path_index_lists(file: Path, path: str) -> None:
    task = load_task(file, [f"{path}=4"])
    assert isinstance(task, Task)
    assert task.follow[0].priority == 4


def test_one_more_than_the_last_index_appends(file: Path) -> None:
    assert load_task(file, ["entry_urls.1=http://b/"]).entry_urls == ["https://example.com/", "http://b/"]


def test_later_settings_win(file: Path) -> None:
    assert load_task(file, ["concurrency=1", "concurrency=2"]).concurrency == 2


def test_an_unknown_path_is_the_usual_unknown_key(file: Path) -> None:
    assert refused(file, "limits.max_page=1") == (
        "limits.max_page",
        "unknown key 'max_page'",
        "did you mean 'max_pages'?",
    )


def test_what_cannot_be_set_is_refused(file: Path) -> None:
    assert refused(file, "concurrency") == (
        "concurrency",
        '"concurrency" is not a setting',
        "write it as limits.max_pages=100",
    )
    assert refused(file, "a..b=1")[1] == '"a..b=1" is not a setting'
    assert refused(file, "name.x=1")[:2] == ("name", "\"small\" is not an object, so 'x' cannot be set in it")
    assert refused(file, "follow.5.to=a")[:2] == ("follow", "'5' is not an index of this list of 1")
    assert refused(file, "follow.first=a")[:2] == ("follow", "'first' is not an index of this list of 1")
    assert refused(file, "limits.max_pages=NaN")[0] == "limits.max_pages"


def test_duplicate_keys_in_a_value_are_refused(file: Path) -> None:
    assert refused(file, 'limits={"max_pages": 1, "max_pages": 2}')[:2] == (
        "limits.max_pages",
        "duplicate key 'max_pages'",
    )


def test_the_document_itself_is_left_alone_also_where_it_is_shared() -> None:
    shared = {"x": 1}
    document = {"a": shared, "b": shared}
    assert apply_overrides(document, ["a.x=2"]) == {"a": {"x": 2}, "b": {"x": 1}}
    assert document == {"a": {"x": 1}, "b": {"x": 1}}
