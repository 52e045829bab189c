"""Apply rules to one page, for `extract`, `shell` and the preview of a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from smartspider.core.errors import Problem, RequestInvalid, TaskInvalid
from smartspider.core.pages.extraction import Item, StepCount
from smartspider.core.pages.files import pending_value, with_files
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import DEFAULT_PAGE
from smartspider.services.plans import compile_plan
from smartspider.services.preview.preview import rejected_views
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_local_task, parse_task

VALUE = "value"
"""The field of a rule without a name."""

_TASK_KEYS = frozenset({"name", "entry_urls", "pages", "pipeline"})


class RuleResult(msgspec.Struct, frozen=True):
    """The items that rules extracted from a page."""

    engine: str
    items: list[Item]
    rejected: list[dict[str, Any]]
    counts: dict[str, StepCount] = {}


def parse_rules(given: Mapping[str, Any]) -> Any:
    """Return the rules given as `rules`, `selectors` or `task`, of which exactly one is required."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        found = "none is given" if not named else f"{' and '.join(named)} are given"
        what = f"exactly one of {', '.join(given)} is required, but {found}"
        problem = Problem("", what, 'for example "rules": "h1::text"')
        raise RequestInvalid(problem.message, (problem,), hint=problem.hint)
    rules = given[named[0]]
    match named[0]:
        case "selectors":
            return {"name": "try", "selectors": _with_fields(rules)}
        case "task":
            return {"name": "try", **rules}
        case _:
            return rule_for_all(rules) if isinstance(rules, str) else rules


def rule_for_all(text: str) -> dict[str, Any]:
    """Return the rule of a selector for all its matches."""
    if not text.strip():
        problem = Problem("rules", "the rule is empty", "for example: h1::text")
        raise TaskInvalid("the rules are empty", (problem,), hint=problem.hint)
    rule = parse_rule(text)
    return {VALUE: {**(rule if isinstance(rule, dict) else {"expr": rule}), "many": True}}


def result_warnings(status: int, tried: RuleResult) -> list[str]:
    """Return warnings about an error status, missing items and empty fields."""
    found = []
    if not 200 <= status < 300:
        found.append(f"the page has status {status}, so a crawl would not extract it")
    if not tried.items:
        found.append("no item was found" if not tried.rejected else "every item was rejected")
    fields = tried.items[0] if tried.items else {}
    found += [
        f"the field {field!r} is always empty"
        for field in fields
        if all(item.get(field) in (None, "", [], {}) for item in tried.items)
    ]
    return found


def build_task(url: str, rules: Any, page_type: str = DEFAULT_PAGE) -> dict[str, Any]:
    """Build a task for one URL from a task, `selectors`, rules by field name, or a single rule."""
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


def parse_rule(text: str) -> str | dict[str, Any]:
    """Return the rule of a text: CSS, or XPath if it starts like a path."""
    return {"type": "xpath", "expr": text} if text.startswith(("/", "./", "(", "..")) else text


def apply_rules(task: dict[str, Any], page: Page, folder: Path | None = None) -> RuleResult:
    """Apply the rules and steps of the first entry to a page. Raise `TaskInvalid` or `NotReadable`.

    A local command names the folder of the Python files whose functions the rules may use.
    """
    plan = compile_task(parse_task(task) if folder is None else parse_local_task(task, folder))
    compiled = compile_plan(plan, is_local=folder is not None)
    request = plan.entries[0]
    extraction = compiled.extractor.extract(page, request)
    if compiled.pipeline is not None:
        extraction = compiled.pipeline.process(extraction, page)
    return RuleResult(
        compiled.extractor.engine_of(request.page),
        [with_files(item, pending_value) for item in extraction.items],
        rejected_views(extraction.rejected),
        extraction.counts,
    )
