"""References to secrets are checked before anything is fetched."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


def task(**more: Any) -> dict[str, Any]:
    return {"name": "t", "entry_urls": ["https://h.example/"], "selectors": {"fields": {"a": "b"}}, **more}


def problem_of(**more: Any) -> tuple[str, str]:
    with pytest.raises(TaskInvalid) as caught:
        parse_task(task(**more))
    problem = caught.value.problems[-1]
    return problem.path, problem.message


def test_a_name_with_other_characters_is_refused() -> None:
    path, message = problem_of(fetch={"headers": {"X-Key": "${my-key}"}})
    assert (path, "${my-key}" in message) == ("fetch.headers.X-Key", True)
    entry = {"url": "https://h.example/", "body": {"a": [{"b": "${}"}]}}
    assert problem_of(entry_urls=[entry])[0] == "entry_urls[0].body.a[0].b"
    follow = {"selector": "a", "request": {"headers": {"K": "${a b}"}}}
    assert problem_of(follow=[follow])[0] == "follow[0].request.headers.K"
    layers = [{"use": "json", "expr": "a"}, {"use": "sign", "headers": {"K": "${a b}"}}]
    assert problem_of(layers=layers)[0] == "layers[1].headers.K"


@pytest.mark.parametrize(
    "entry",
    ["https://h.example/?key=${KEY}", {"url": "https://h.example/{q}?key=${KEY}", "each": {"q": [1]}}],
)
def test_a_secret_in_a_url_is_refused(entry: Any) -> None:
    _, message = problem_of(entry_urls=[entry])
    assert "${KEY}" in message


def test_a_dollar_before_a_variable_in_a_url_is_a_dollar() -> None:
    entry = {"url": "https://h.example/?max=${price}", "each": {"price": [5]}}
    plan = compile_task(parse_task(task(entry_urls=[entry])))
    assert plan.entries[0].url.endswith("?max=$5")
    assert plan.secrets == frozenset()


def test_a_plan_names_the_secrets_it_needs() -> None:
    plan = compile_task(
        parse_task(
            task(
                entry_urls=[
                    {"url": "https://h.example/", "headers": {"A": "${ONE}"}, "body": "${TWO} $${NOT}"}
                ],
                fetch={"headers": {"B": "${THREE}"}},
                follow=[{"selector": "a", "request": {"body": {"k": "${FOUR}"}}}],
                layers=[{"use": "sign", "key": "${FIVE}", "headers": {"K": "${SIX}"}}],
            )
        )
    )
    names = {"ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX"}
    assert plan.secrets == names
    assert plan.needs == {"http", *(f"secret:{name}" for name in names)}


def test_a_plain_task_needs_no_secret_and_no_layer() -> None:
    plan = compile_task(parse_task(task()))
    assert not plan.secrets
    assert plan.needs == {"http"}
    assert not plan.sends_own_parts
