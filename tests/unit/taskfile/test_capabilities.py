"""Parts of a task that this version cannot run are named before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import NotBuilt
from smartspider.core.runs.run import VAULT
from smartspider.taskfile.checks import find_missing
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


def missing(task: dict[str, Any]) -> list[str]:
    return [problem.path for problem in find_missing(parse_task(task))]


def test_the_example_of_the_contract_needs_only_the_vault(seed: dict[str, Any]) -> None:
    assert missing(seed) == []
    plan = compile_task(parse_task(seed))
    assert (plan.vault_cookies, VAULT in plan.needs) == ("3", True)


def test_a_task_that_needs_too_much_is_refused_with_one_line(seed: dict[str, Any]) -> None:
    with pytest.raises(NotBuilt) as caught:
        compile_task(parse_task({**seed, "account_pool": "main", "archive": {"warc": True}}))
    assert caught.value.message == (
        "this version cannot run the task: archive.warc: the WARC archive is not supported yet; "
        "account_pool: account pools are not supported yet"
    )


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"pagination": {"type": "scroll"}}, "pagination.type"),
        ({"fetch": {"mode": "browser"}}, "fetch.mode"),
        ({"fetch": {"wait_for": ".a"}}, "fetch.wait_for"),
        ({"fetch": {"actions": [{"click": "a"}]}}, "fetch.actions"),
        ({"pages": {"default": {"emit": False, "fetch": {"mode": "browser"}}}}, "pages.default.fetch.mode"),
        (
            {"pages": {"default": {"emit": False, "fetch": {"wait_for": ".a"}}}},
            "pages.default.fetch.wait_for",
        ),
        ({"sinks": [{"use": "x"}]}, "sinks"),
        ({"alerts": {"empty_fields": 0.5}}, "alerts.empty_fields"),
        ({"archive": {"warc": True}}, "archive.warc"),
        ({"account_pool": "a"}, "account_pool"),
    ],
)
def test_what_is_not_built_is_named_by_its_path(
    small: dict[str, Any], change: dict[str, Any], path: str
) -> None:
    assert missing({**small, **change}) == [path]


def test_writing_down_the_defaults_needs_nothing(small: dict[str, Any]) -> None:
    defaults = {
        "sitemaps": False,
        "fetch": {"mode": "http", "proxy_pool": None, "actions": []},
        "dedup": {"urls": "exact", "window": None, "items": None, "scope": "run", "keep": "first"},
        "pipeline": [],
        "sinks": [],
        "alerts": {"empty_fields": None},
        "archive": {"warc": False},
        "use_cookie": False,
        "cookie_id": None,
        "account_pool": None,
        "schedule": None,
    }
    assert missing({**small, **defaults}) == []


def test_what_is_built_runs(small: dict[str, Any]) -> None:
    task = {
        **small,
        "selectors": {
            "items": {"type": "css", "expr": ".a"},
            "fields": {
                "a": {"type": "css", "expr": "b", "many": True, "join": ",", "attr": "c", "text": "raw"},
                "b": [{"type": "const", "expr": 1}, {"x": {"type": "meta", "expr": "url"}}],
            },
        },
        "follow": [{"selector": "a", "max_depth": 1}],
        "pagination": {"type": "next_link", "selector": "a"},
        "fetch": {
            "method": "POST",
            "headers": {"a": "b"},
            "user_agents": ["x"],
            "timeout_s": 1,
            "max_bytes": 2,
        },
        "dedup": {"ignore_params": ["a"], "urls": "bloom"},
        "alerts": {"consecutive_failures": 2, "failure_rate": 0.5, "action": "notify"},
    }
    assert missing(task) == []
    assert compile_task(parse_task(task)).name == "small"
