"""Rules tried on one page: what `extract` and `shell` do, with the code that reads pages in a crawl."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.errors import TaskInvalid
from smartspider.core.extraction import Item
from smartspider.core.page import Page
from smartspider.core.request import DEFAULT_PAGE
from smartspider.services.compiled import compile_plan
from smartspider.services.preview import told_rejects
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task

VALUE = "value"
"""The field of a rule that was given without a name."""

_TASK_KEYS = frozenset({"name", "entry_urls", "pages", "pipeline"})


class Tried(msgspec.Struct, frozen=True):
    """What rules found on a page."""

    engine: str
    items: list[Item]
    rejected: list[dict[str, Any]]


def task_from(url: str, rules: Any, page_type: str = DEFAULT_PAGE) -> dict[str, Any]:
    """A task for one URL from rules in any form: a task, `selectors`, fields by name, or a single rule."""
    entries = [{"url": url, "page": page_type}]
    head = {"name": "try", "entry_urls": entries if page_type != DEFAULT_PAGE else [url]}
    if isinstance(rules, dict) and rules.keys() & _TASK_KEYS:
        return {**head, **rules, "entry_urls": head["entry_urls"]}
    if isinstance(rules, dict) and rules and rules.keys() <= {"items", "fields"}:
        if "fields" not in rules:
            raise TaskInvalid("`items` alone gives no rows", hint='add "fields": {"title": "h2", ...}')
        return {**head, "selectors": rules}
    if isinstance(rules, dict) and not isinstance(rules.get("type"), str) and "expr" not in rules:
        return {**head, "selectors": {"fields": rules}}
    return {**head, "selectors": {"fields": {VALUE: rules}}}


def plain_rule(text: str) -> str | dict[str, Any]:
    """A rule as a person types it: CSS, or XPath when it begins like a path."""
    return {"type": "xpath", "expr": text} if text.startswith(("/", "./", "(", "..")) else text


def try_rules(task: dict[str, Any], page: Page) -> Tried:
    """What the rules of the first entry find on a page, steps included. Raises TaskInvalid, NotReadable."""
    plan = compile_task(parse_task(task))
    compiled = compile_plan(plan)
    request = plan.entries[0]
    extraction = compiled.extractor.extract(page, request)
    if compiled.pipeline is not None:
        extraction = compiled.pipeline.treat(extraction, page)
    return Tried(
        compiled.extractor.engine_of(request.page),
        extraction.items,
        told_rejects(extraction.rejected),
    )
