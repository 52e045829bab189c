"""Try drafts on the page with the extractor."""

from __future__ import annotations

from functools import partial
from typing import Any

from smartspider.core.errors import SmartSpiderError
from smartspider.core.pages.extraction import Extraction, Item
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import DEFAULT_PAGE, make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages
from smartspider.interfaces.step import PageContext, page_context
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve
from smartspider.suggest.suggestion import Draft, SuggestedField, Suggestion, make_task
from smartspider.taskfile.compile_pages import page_plans
from smartspider.taskfile.load import parse_task

Converted = dict[tuple[str, str], Any]
"""Values after steps, by the steps and the value."""

SAMPLES = 5
_FIRST_TRIED, _LATER_TRIED = 8, 6
"""The values on which steps are tried: the first, and some from all over the list."""


def try_rules(page: Page, items: Any, fields: dict[str, Any]) -> Extraction | None:
    """Extract a page with rules without steps; None if the rules are invalid."""
    try:
        task = parse_task(make_task("suggestion", page.url, items, fields))
        plans = {DEFAULT_PAGE: page_plans(task)[DEFAULT_PAGE]}
        return compile_pages(plans, TrapGuards()).extract(page, make_request(page.url))
    except SmartSpiderError:
        return None


def _typed(rule: Any, values: list[Any]) -> Any:
    """Add the step for the type of the values to a JMESPath rule, so that the column is typed."""
    if not isinstance(rule, dict) or rule.get("type") != "jmespath" or rule.get("steps"):
        return rule
    types = {type(value) for value in values if value is not None}
    paths = [value for value in values if isinstance(value, str) and value]
    if types == {bool}:
        step = "boolean"
    elif types == {int}:
        step = "integer"
    elif types <= {int, float} and types:
        step = "number"
    elif types == {str} and paths and all(value.startswith("/") and " " not in value for value in paths):
        step = "url"
    else:
        return rule
    return {**rule, "steps": [step]}


_FIRST = frozenset({"id", "sku", "title", "name", "headline", "subject"})
_LAST = ("url", "link", "image", "thumbnail")


def _rank(name: str) -> int:
    """Return the sort key of a field: identifying fields first, URLs last."""
    return 0 if name in _FIRST else 2 + _LAST.index(name) if name in _LAST else 1


def check_draft(page: Page, draft: Draft, name: str, known: Converted | None = None) -> Suggestion | None:
    """Add samples and coverage to a draft and drop empty fields, except columns; None if no item remains.

    `known` are values that steps have converted for other drafts of the page.
    """
    known = {} if known is None else known
    bare = {field: without_steps(rule) for field, rule in draft.fields.items()}
    extraction = try_rules(page, draft.items, bare)
    if extraction is None or not extraction.items:
        return None
    rows = extraction.items
    context = page_context(page, extraction.base)
    fields: list[SuggestedField] = []
    for field, drafted in draft.fields.items():
        coverage = _share(rows, field)
        if coverage == 0 and draft.kind != "table":
            continue
        column = [row[field] for row in rows]
        rule, values = _with_helpful_steps(_typed(drafted, column), column, context, known)
        fields.append(SuggestedField(field, rule, tuple(values[:SAMPLES]), coverage))
    if not fields:
        return None
    fields.sort(key=lambda field: _rank(field.name))
    names = {field.name for field in fields}
    return Suggestion(
        name=name,
        kind=draft.kind,
        items=draft.items,
        fields=tuple(fields),
        count=len(rows),
        score=draft.score,
        reasons=draft.reasons,
        details=draft.details if draft.details in names else None,
        features=draft.features,
        completeness=draft.completeness,
        pipeline=tuple(step for step in draft.pipeline if names.issuperset(step["fields"])),
    )


def _with_helpful_steps(
    rule: Any, column: list[Any], context: PageContext, known: Converted
) -> tuple[Any, list[Any]]:
    """Return a rule with as many of its steps as convert all values, and the first values converted.

    A step that fails on a value would lose it.
    """
    steps = _steps_of(rule)
    while steps:
        converted = _convert(steps, column, context, known)
        if converted is not None:
            return _with_steps(rule, steps), converted
        steps = steps[:-1]
    return _with_steps(rule, []), column


def _convert(steps: list[Any], column: list[Any], context: PageContext, known: Converted) -> list[Any] | None:
    """Return the first values of a column after steps; None if a step is invalid or fails on a value."""
    plain = tuple({"use": step} if isinstance(step, str) else step for step in steps)
    try:
        chain = StepCompiler(partial(resolve, STEP)).compile_chain(plain, "selectors.fields.value")
    except SmartSpiderError:
        return None
    chain = chain.for_column(column, context)
    is_slow = "date" in steps
    later = [] if is_slow else column[_FIRST_TRIED :: max(1, len(column) // _LATER_TRIED)]
    converted = []
    for value in [*column[: SAMPLES if is_slow else _FIRST_TRIED], *later]:
        key = (str(steps), str(value))
        if key not in known:
            known[key] = value if value is None else chain.apply(value, context, 0)
        result = known[key]
        if _is_value(value) and not _is_value(result):
            return None
        converted.append(result)
    return converted[:_FIRST_TRIED]


def _steps_of(rule: Any) -> list[Any]:
    """Return the steps of a rule; alternatives have the same."""
    first = rule[0] if isinstance(rule, list) else rule
    return list(first.get("steps", [])) if isinstance(first, dict) else []


def _is_value(value: Any) -> bool:
    return value not in (None, "", [])


def _share(rows: list[Item], field: str) -> float:
    return sum(1 for row in rows if _is_value(row[field])) / len(rows)


def without_steps(rule: Any) -> Any:
    """Return a rule, or alternatives, without steps."""
    return _with_steps(rule, [])


def _with_steps(rule: Any, steps: list[Any]) -> Any:
    """Replace the steps of a rule, or of each alternative; a CSS rule without options is a string."""
    if isinstance(rule, list):
        return [_with_steps(one, steps) for one in rule]
    if not isinstance(rule, dict):
        return rule
    bare = {key: value for key, value in rule.items() if key != "steps"}
    if steps:
        return {**bare, "steps": steps}
    return bare["expr"] if bare.keys() == {"type", "expr"} and bare["type"] == "css" else bare
