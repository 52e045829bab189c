"""What a task may ask for that this version cannot do yet: one line each, to be deleted when it is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from smartspider.core.errors import NotBuilt, Problem
from smartspider.taskfile.checks import page_prefix
from smartspider.taskfile.forms import Part
from smartspider.taskfile.model import Task
from smartspider.taskfile.rules import Rule

Finder = Callable[[Task], Iterable[str]]
"""Gives the paths of the keys that need a capability."""


def missing_capabilities(task: Task) -> list[Problem]:
    """A problem for each key that asks for something this version does not have."""
    hint = "leave the key out to run the rest of the task"
    return [
        Problem(path, f"{capability} not built yet", hint)
        for capability, find in NOT_BUILT
        for path in find(task)
    ]


def require_built(task: Task) -> None:
    """Raises NotBuilt, naming every key that asks for too much."""
    problems = missing_capabilities(task)
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
        if isinstance(part, Part) and getattr(part, last) != type(part).model_fields[last].default:
            yield path

    return find


def _rule_type(kind: str) -> Finder:
    """A rule or a follow of a type."""

    def find(task: Task) -> Iterator[str]:
        for path, rule in _all_rules(task):
            if rule.type == kind:
                yield f"{path}.type"
        for name, page in task.page_types.items():
            for index, follow in enumerate(page.follow):
                if follow.type == kind:
                    yield f"{page_prefix(task, name)}follow[{index}].type"

    return find


def _pagination(kind: str) -> Finder:
    """A pagination of a kind."""

    def find(task: Task) -> Iterator[str]:
        for name, page in task.page_types.items():
            if page.pagination is not None and page.pagination.type == kind:
                yield f"{page_prefix(task, name)}pagination.type"

    return find


def _rule_steps(task: Task) -> Iterator[str]:
    return (f"{path}.steps" for path, rule in _all_rules(task) if rule.steps)


def _items_alternatives(task: Task) -> Iterator[str]:
    for name, page in task.page_types.items():
        if isinstance(page.selectors.items, list):
            yield f"{page_prefix(task, name)}selectors.items"


def _all_rules(task: Task) -> Iterator[tuple[str, Rule]]:
    """Every rule object of the task with its path."""
    for name, page in task.page_types.items():
        prefix = f"{page_prefix(task, name)}selectors."
        if page.selectors.items is not None:
            yield from _rules_in(f"{prefix}items", page.selectors.items)
        for field, rule in page.selectors.fields.items():
            yield from _rules_in(f"{prefix}fields.{field}", rule)


def _rules_in(path: str, rule: Any) -> Iterator[tuple[str, Rule]]:
    match rule:
        case Rule():
            yield path, rule
        case list():
            for index, inner in enumerate(rule):
                yield from _rules_in(f"{path}[{index}]", inner)
        case dict():
            for name, inner in rule.items():
                yield from _rules_in(f"{path}.{name}", inner)
        case _:
            return


NOT_BUILT: tuple[tuple[str, Finder], ...] = (
    ("XPath rules are", _rule_type("xpath")),
    ("JMESPath rules are", _rule_type("jmespath")),
    ("regex rules are", _rule_type("regex")),
    ("steps of a rule are", _rule_steps),
    ("alternatives for items are", _items_alternatives),
    ("pagination by page number is", _pagination("page_param")),
    ("pagination by offset is", _pagination("offset")),
    ("pagination by cursor is", _pagination("cursor")),
    ("pagination by scrolling is", _pagination("scroll")),
    ("pagination by Link header is", _pagination("header_link")),
    ("starting from sitemaps is", _given("sitemaps")),
    ("fetching by browser or impersonation is", _given("fetch.mode")),
    ("proxy pools are", _given("fetch.proxy_pool")),
    ("waiting for an element is", _given("fetch.wait_for")),
    ("actions on a page are", _given("fetch.actions")),
    ("the Bloom filter is", _given("dedup.urls")),
    ("a dedup window is", _given("dedup.window")),
    ("dedup of items is", _given("dedup.items")),
    ("dedup over a whole task is", _given("dedup.scope")),
    ("keeping the last of equal items is", _given("dedup.keep")),
    ("the pipeline is", _given("pipeline")),
    ("sinks besides the result store are", _given("sinks")),
    ("alerts on empty fields are", _given("alerts.empty_fields")),
    ("the WARC archive is", _given("archive.warc")),
    ("cookies from the vault are", _given("use_cookie")),
    ("cookies from the vault are", _given("cookie_id")),
    ("account pools are", _given("account_pool")),
    ("schedules are", _given("schedule")),
)
