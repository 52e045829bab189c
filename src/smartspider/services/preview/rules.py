"""Rules tried on one page: what `extract` and `shell` do, with the code that reads pages in a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from smartspider.core.errors import Problem, RequestInvalid, TaskInvalid
from smartspider.core.pages.extraction import Item, StepCount
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import DEFAULT_PAGE
from smartspider.services.preview.preview import rejected_views
from smartspider.services.runs.compiled import compile_plan
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task

VALUE = "value"
"""The field of a rule that was given without a name."""

_TASK_KEYS = frozenset({"name", "entry_urls", "pages", "pipeline"})


class RuleResult(msgspec.Struct, frozen=True):
    """What rules found on a page."""

    engine: str
    items: list[Item]
    rejected: list[dict[str, Any]]
    counts: dict[str, StepCount] = {}


def rules_from(given: Mapping[str, Any]) -> Any:
    """The rules of a request that names them as `rules`, `selectors` or `task`: one of these."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        told = "none of them is there" if not named else f"{' and '.join(named)} are there"
        what = f"one of {', '.join(given)} is needed, and {told}"
        problem = Problem("", what, 'for example "rules": "h1::text"')
        raise RequestInvalid(problem.message, (problem,), hint=problem.hint)
    rules = given[named[0]]
    match named[0]:
        case "selectors":
            return {"name": "try", "selectors": _with_fields(rules)}
        case "task":
            return {"name": "try", **rules}
        case _:
            return many(rules) if isinstance(rules, str) else rules


def many(text: str) -> dict[str, Any]:
    """A selector as a person types it, for everything it finds."""
    if not text.strip():
        problem = Problem("rules", "it is empty", "for example: h1::text")
        raise TaskInvalid("the rules are empty", (problem,), hint=problem.hint)
    rule = plain_rule(text)
    return {VALUE: {**(rule if isinstance(rule, dict) else {"expr": rule}), "many": True}}


def warnings_of(status: int, tried: RuleResult) -> list[str]:
    """What is worth a second look: a page that is an error, rules that find nothing."""
    found = []
    if not 200 <= status < 300:
        found.append(f"the page answers {status}, and a crawl would not read it")
    if not tried.items:
        found.append("no item was found" if not tried.rejected else "every item was rejected")
    fields = tried.items[0] if tried.items else {}
    found += [
        f"the field {field!r} was never found"
        for field in fields
        if all(item.get(field) in (None, "", [], {}) for item in tried.items)
    ]
    return found


def task_from(url: str, rules: Any, page_type: str = DEFAULT_PAGE) -> dict[str, Any]:
    """A task for one URL from rules in any form: a task, `selectors`, fields by name, or a single rule."""
    entries = [{"url": url, "page": page_type}]
    head = {"name": "try", "entry_urls": entries if page_type != DEFAULT_PAGE else [url]}
    if isinstance(rules, dict) and rules.keys() & _TASK_KEYS:
        return {**head, **rules, "entry_urls": head["entry_urls"]}
    if isinstance(rules, dict) and rules and rules.keys() <= {"items", "fields"}:
        return {**head, "selectors": _with_fields(rules)}
    if isinstance(rules, dict) and not isinstance(rules.get("type"), str) and "expr" not in rules:
        return {**head, "selectors": {"fields": rules}}
    return {**head, "selectors": {"fields": {VALUE: rules}}}


def _with_fields(selectors: dict[str, Any]) -> dict[str, Any]:
    if "fields" not in selectors:
        raise TaskInvalid("`items` alone gives no rows", hint='add "fields": {"title": "h2", ...}')
    return selectors


def plain_rule(text: str) -> str | dict[str, Any]:
    """A rule as a person types it: CSS, or XPath when it begins like a path."""
    return {"type": "xpath", "expr": text} if text.startswith(("/", "./", "(", "..")) else text


def try_rules(task: dict[str, Any], page: Page) -> RuleResult:
    """What the rules of the first entry find on a page, steps included. Raises TaskInvalid, NotReadable."""
    plan = compile_task(parse_task(task))
    compiled = compile_plan(plan)
    request = plan.entries[0]
    extraction = compiled.extractor.extract(page, request)
    if compiled.pipeline is not None:
        extraction = compiled.pipeline.process(extraction, page)
    return RuleResult(
        compiled.extractor.engine_of(request.page),
        extraction.items,
        rejected_views(extraction.rejected),
        extraction.counts,
    )
