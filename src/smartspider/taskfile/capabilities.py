"""Features that the task file can express and this version does not support yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from smartspider.core.errors import NotBuilt, Problem
from smartspider.taskfile.checks import page_prefix
from smartspider.taskfile.model.forms import Section
from smartspider.taskfile.model.task import Task

Finder = Callable[[Task], Iterable[str]]
"""Returns the paths of the keys that use a feature."""


def find_missing(task: Task) -> list[Problem]:
    """Return a problem for each key that uses an unsupported feature."""
    hint = "remove the key to run the rest of the task"
    return [
        Problem(path, f"{capability} not supported yet", hint)
        for capability, find in NOT_BUILT
        for path in find(task)
    ]


def require_supported(task: Task) -> None:
    """Raise `NotBuilt`, naming every key that uses an unsupported feature."""
    problems = find_missing(task)
    if problems:
        listed = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
        raise NotBuilt(f"this version cannot run the task: {listed}", hint=problems[0].hint)


def _given(path: str) -> Finder:
    """Find a key that is set to something other than its default."""

    def find(task: Task) -> Iterator[str]:
        part: Any = task
        *above, last = path.split(".")
        for name in above:
            part = getattr(part, name)
        if isinstance(part, Section) and getattr(part, last) != type(part).model_fields[last].default:
            yield path

    return find


def _pagination(kind: str) -> Finder:
    """Find paginations of a kind."""

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
