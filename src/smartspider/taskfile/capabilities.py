"""What a task may ask for that this version cannot do yet: one line each, to be deleted when it is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from smartspider.core.errors import NotBuilt, Problem
from smartspider.taskfile.checks import page_prefix
from smartspider.taskfile.model.forms import Section
from smartspider.taskfile.model.task import Task

Finder = Callable[[Task], Iterable[str]]
"""Gives the paths of the keys that need a capability."""


def find_missing(task: Task) -> list[Problem]:
    """A problem for each key that asks for something this version does not have."""
    hint = "leave the key out to run the rest of the task"
    return [
        Problem(path, f"{capability} not built yet", hint)
        for capability, find in NOT_BUILT
        for path in find(task)
    ]


def require_supported(task: Task) -> None:
    """Raises NotBuilt, naming every key that asks for too much."""
    problems = find_missing(task)
    if problems:
        listed = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
        raise NotBuilt(f"this version cannot run the task: {listed}", hint=problems[0].hint)


def _given(path: str) -> Finder:
    """The key is there and is not its default."""

    def find(task: Task) -> Iterator[str]:
        part: Any = task
        *above, last = path.split(".")
        for name in above:
            part = getattr(part, name)
        if isinstance(part, Section) and getattr(part, last) != type(part).model_fields[last].default:
            yield path

    return find


def _pagination(kind: str) -> Finder:
    """A pagination of a kind."""

    def find(task: Task) -> Iterator[str]:
        for name, page in task.page_types.items():
            if page.pagination is not None and page.pagination.type == kind:
                yield f"{page_prefix(task, name)}pagination.type"

    return find


NOT_BUILT: tuple[tuple[str, Finder], ...] = (
    ("pagination by scrolling is", _pagination("scroll")),
    ("fetching by browser or impersonation is", _given("fetch.mode")),
    ("proxy pools are", _given("fetch.proxy_pool")),
    ("waiting for an element is", _given("fetch.wait_for")),
    ("actions on a page are", _given("fetch.actions")),
    ("sinks besides the result store are", _given("sinks")),
    ("alerts on empty fields are", _given("alerts.empty_fields")),
    ("the WARC archive is", _given("archive.warc")),
    ("cookies from the vault are", _given("use_cookie")),
    ("cookies from the vault are", _given("cookie_id")),
    ("account pools are", _given("account_pool")),
)
