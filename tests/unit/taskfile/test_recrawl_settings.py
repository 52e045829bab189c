"""`recrawl` and `dedup.window`, from the task to the plan."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task

HOUR, DAY = 3_600.0, 86_400.0


def recrawl_of(**task: Any) -> RecrawlPolicy:
    return compile_task(parse_task({"name": "a", "entry_urls": ["http://a.com/"], **task})).recrawl


@pytest.mark.parametrize(
    ("task", "recrawl"),
    [
        ({}, RecrawlPolicy()),
        ({"dedup": {"window": "7d"}}, RecrawlPolicy(window_s=7 * DAY)),
        ({"recrawl": {"conditional": True}}, RecrawlPolicy(conditional=True)),
        ({"recrawl": {"adaptive": True}}, RecrawlPolicy(min_s=HOUR, max_s=30 * DAY)),
        ({"recrawl": {"adaptive": {"max": "2h"}}}, RecrawlPolicy(min_s=HOUR, max_s=2 * HOUR)),
        ({"recrawl": {"adaptive": False}}, RecrawlPolicy()),
    ],
)
def test_the_plan_says_how_pages_are_revisited(task: dict[str, Any], recrawl: RecrawlPolicy) -> None:
    assert recrawl_of(**task) == recrawl
    assert recrawl.needs_history == (recrawl != RecrawlPolicy())


@pytest.mark.parametrize(
    "task",
    [
        {"limits": {"max_depth": 2}},
        {"scope": {"max_depth": 2}},
        {"follow": [{"selector": "a"}, {"selector": "b", "max_depth": 1}]},
        {
            "pages": {"list": {"follow": [{"selector": "a", "max_depth": 1}]}},
            "follow": [{"selector": "a", "to": "list"}],
        },
    ],
)
def test_a_task_whose_links_depend_on_depth_says_so(task: dict[str, Any]) -> None:
    assert recrawl_of(**task).is_by_depth
    assert not recrawl_of(follow=[{"selector": "a"}]).is_by_depth


def test_the_shortest_interval_cannot_be_longer_than_the_longest() -> None:
    with pytest.raises(TaskInvalid) as error:
        recrawl_of(recrawl={"adaptive": {"min": "2d", "max": "25h"}})
    (problem,) = error.value.problems
    assert problem.path == "recrawl.adaptive.min"
    assert problem.message == "min (2d) is longer than max (25h)"


def test_what_stays_as_it_is_cannot_be_updated(small: dict[str, Any]) -> None:
    task = {**small, "selectors": {"fields": {"likes": "b"}}}
    dedup = {"items": ["likes"], "update": ["likes"]}
    parse_task({**task, "dedup": dedup})
    with pytest.raises(TaskInvalid) as caught:
        parse_task({**task, "dedup": {**dedup, "keep": "last"}})
    assert [problem.path for problem in caught.value.problems] == ["dedup.update"]
