"""`download`: a URL becomes a reference to a file of the run."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.core.pages.files import FilePlan
from smartspider.services.plans import compile_plan, plan_columns
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


def plan_of(*pipeline: Any, **rule: Any) -> Any:
    fields = {"image": {"expr": "img::attr(src)", **rule}}
    task = {"name": "t", "entry_urls": ["https://h.example/"], "selectors": {"fields": fields}}
    return compile_task(parse_task({**task, "pipeline": list(pipeline)}))


def test_each_set_of_options_is_a_page_type_with_its_own_size() -> None:
    plan = plan_of(
        {"use": "download", "fields": ["image"], "folder": "large", "max_bytes": 5},
        {"use": "download", "fields": ["image"], "enabled": False},
    )
    file = FilePlan(folder="large", max_bytes=5)
    assert plan.downloads
    assert plan.pages[file.page].file == file
    assert {page: own.max_bytes for page, own in plan.fetch.pages.items()} == {file.page: 5}


def test_a_rule_downloads_too() -> None:
    plan = plan_of(steps=["download"])
    assert plan.pages[FilePlan().page].kind == "file"
    assert not plan_of().downloads


def test_the_column_is_an_object_or_a_path() -> None:
    assert plan_columns(plan_of(steps=["download"]))[0].kind == "json"
    assert plan_columns(plan_of(steps=[{"use": "download", "value": "path"}]))[0].kind == "text"


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"folder": "/etc"}, "folder"),
        ({"folder": "../x"}, "folder"),
        ({"folder": "a/../../b"}, "folder"),
        ({"folder": ""}, "folder"),
        ({"folder": ".hidden"}, "folder"),
        ({"name": "../{sha256}"}, "name"),
        ({"name": "{sha256}/../x"}, "name"),
        ({"name": "{digest}"}, "name"),
        ({"name": "image.{ext}"}, "name"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"max_bytes": "1 MB"}, "max_bytes"),
        ({"value": "url"}, "value"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], key: str) -> None:
    with pytest.raises(TaskInvalid) as caught:
        compile_plan(plan_of({"use": "download", "fields": ["image"], **options}))
    assert caught.value.problems[0].path == f"pipeline[0].{key}"
