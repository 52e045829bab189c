"""Features that the task file can express and this version does not support yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from smartspider.core.errors import NotBuilt, Problem
from smartspider.plugins import registry
from smartspider.plugins.kinds import TRANSPORT
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


def _is_set(path: str) -> Finder:
    """Find a key that is set to something other than its default."""

    def find(task: Task) -> Iterator[str]:
        section: Any = task
        *above, last = path.split(".")
        for name in above:
            section = getattr(section, name)
        if (
            isinstance(section, Section)
            and getattr(section, last) != type(section).model_fields[last].default
        ):
            yield path

    return find


def _pagination(kind: str) -> Finder:
    """Find paginations of a kind."""

    def find(task: Task) -> Iterator[str]:
        for name, page in task.page_types.items():
            if page.pagination is not None and page.pagination.type == kind:
                yield f"{page_prefix(task, name)}pagination.type"

    return find


def _transport(task: Task) -> Iterator[str]:
    """Find a `fetch.mode` without an installed transport."""
    if not registry.is_known(TRANSPORT, task.fetch.mode):
        yield "fetch.mode"


NOT_BUILT: tuple[tuple[str, Finder], ...] = (
    ("pagination by scrolling is", _pagination("scroll")),
    ("fetching by browser or impersonation is", _transport),
    ("proxy pools are", _is_set("fetch.proxy_pool")),
    ("waiting for an element is", _is_set("fetch.wait_for")),
    ("actions on a page are", _is_set("fetch.actions")),
    ("sinks besides the result store are", _is_set("sinks")),
    ("alerts on empty fields are", _is_set("alerts.empty_fields")),
    ("the WARC archive is", _is_set("archive.warc")),
    ("cookies from the vault are", _is_set("use_cookie")),
    ("cookies from the vault are", _is_set("cookie_id")),
    ("account pools are", _is_set("account_pool")),
)
