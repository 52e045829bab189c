"""Lists that a page shows: cards, rows of tables, entries, comments."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from smartspider.suggest.columns import Column, columns_of
from smartspider.suggest.groups import Group, find_groups
from smartspider.suggest.naming import name_fields
from smartspider.suggest.selectors import FieldSelectors, ItemSelectors
from smartspider.suggest.slots import Slot, find_slots
from smartspider.suggest.suggestion import Draft
from smartspider.suggest.tables import Header, header_of
from smartspider.suggest.tree import Element, Tree

MAX_FIELDS = 24
MAX_LISTS = 4
_STEPS: dict[str, list[str]] = {"price": ["number"], "date": ["date"]}
_LEAST_SCORE = 2.0
_REFINED = 12
MAX_REFINED = 300
"""Items of a list that are looked at one by one for those that do not belong."""


class Analysis:
    """A group looked into."""

    __slots__ = ("columns", "group", "header", "score", "slots")

    def __init__(self, group: Group, header: Header | None, slots: list[Slot], columns: list[Column]) -> None:
        self.group = group
        self.header = header
        self.slots = slots
        self.columns = columns
        self.score = _score(group, columns)


def element_lists(tree: Tree) -> list[Draft]:
    """Drafts of the lists in a page, the best first."""
    analyses = [analysis for group in find_groups(tree) if (analysis := _analyse(tree, group)) is not None]
    analyses.sort(key=lambda analysis: -analysis.score)
    refined = [_refined(tree, analysis) for analysis in analyses[:_REFINED]]
    analyses = sorted(refined + analyses[_REFINED:], key=lambda analysis: -analysis.score)
    selectors = ItemSelectors(tree)
    drafts: list[Draft] = []
    used: list[Analysis] = []
    for analysis in analyses:
        if len(drafts) >= MAX_LISTS or analysis.score < _LEAST_SCORE:
            break
        if any(_is_same_list(analysis, other) for other in used):
            continue
        draft = _draft(analysis, selectors)
        if draft is not None:
            drafts.append(draft)
            used.append(analysis)
    return drafts


def _analyse(tree: Tree, group: Group) -> Analysis | None:
    header = header_of(tree, group.items)
    if header is not None:
        group = Group(header.rows, group.mass, group.place)
    if len(group.items) < 2:
        return None
    sample = group.sample
    slots = find_slots(tree, sample, {item.order for item in group.items})
    columns = columns_of(tree, slots, len(sample), keeps_constant=header is not None)
    if not columns:
        return None
    return Analysis(group, header, slots, columns)


def _refined(tree: Tree, analysis: Analysis) -> Analysis:
    """The analysis without items that lack most of what the others have, if that makes a better list."""
    items = analysis.group.items
    usual = [column for column in analysis.columns if 0.6 <= column.coverage < 1]
    if analysis.header is not None or not usual or not 4 <= len(items) <= MAX_REFINED:
        return analysis
    columns = columns_of(tree, find_slots(tree, items, {item.order for item in items}), len(items))
    usual = [column for column in columns if column.coverage >= 0.6]
    kept = [
        item
        for index, item in enumerate(items)
        if 2 * sum(1 for column in usual if column.values[index]) >= len(usual)
    ]
    if len(kept) == len(items) or len(kept) < 2:
        return analysis
    better = _analyse(tree, Group(kept, analysis.group.mass, analysis.group.place))
    return better if better is not None and better.score > analysis.score else analysis


def _score(group: Group, columns: list[Column]) -> float:
    """How much a list tells: its fields by how many items have them, and the number of its items."""
    worth = sum(_worth(column) for column in columns)
    full = sum(column.coverage for column in columns if column.coverage > 0.5)
    steady = full / max(1, sum(1 for column in columns if column.coverage > 0.5))
    most = max(column.coverage for column in columns)
    if len(columns) <= 2 and not any(len(text) > 3 for text in _texts(columns)):
        worth *= 0.3  # letters of an index, numbers of a pager
    size = math.log2(1 + min(len(group.items), 200))
    return math.pow(worth, 0.9) * size * group.place * steady * steady * most


def _texts(columns: list[Column]) -> Iterator[str]:
    for column in columns:
        if column.take in {"text", "own", "list"}:
            yield from column.found


def _worth(column: Column) -> float:
    found = column.found
    distinct = len(set(found)) / len(found)
    weight = {"list": 0.3, "text": 1.0, "own": 1.0, "href": 0.8}.get(column.take, 0.6)
    return weight * column.coverage * (0.3 + 0.7 * distinct)


def _is_same_list(analysis: Analysis, other: Analysis) -> bool:
    """Whether most items of one lie in, or around, items of the other."""
    return (
        _share_inside(analysis.group, other.group) >= 0.5 or _share_inside(other.group, analysis.group) >= 0.5
    )


def _share_inside(group: Group, other: Group) -> float:
    """How many of some items of a group are, or lie in, items of another."""
    starts = [item.order for item in other.items]
    sample = group.sample
    inside = 0
    for item in sample:
        before = bisect_right(starts, item.order) - 1
        inside += before >= 0 and item.order < other.items[before].end
    return inside / len(sample)


def _draft(analysis: Analysis, selectors: ItemSelectors) -> Draft | None:
    sample = analysis.group.sample
    finder = FieldSelectors(sample)
    found = [(column, *finder.best(column.slot)) for column in analysis.columns[: 3 * MAX_FIELDS]]
    found = [entry for entry in found if entry[2] >= 0.6][:MAX_FIELDS]
    hooks = [
        css
        for column, css, share in sorted(found, key=lambda entry: not entry[1].startswith("h"))
        if share == 1.0 and column.coverage == 1.0 and css and column.take != "list" and "contains" not in css
    ]  # fmt: skip
    items = None
    if analysis.header is not None:
        items = analysis.header.selector(selectors)
    items = items or selectors.best(analysis.group.items, hooks[:6])
    if items is None:
        return None
    columns = [column for column, _, _ in found]
    names = name_fields(columns, analysis.header.names if analysis.header else None)
    fields = {name: rule_of(column, css, name) for name, (column, css, _) in zip(names, found, strict=True)}
    return Draft(
        kind="table" if analysis.header else "list",
        items=items,
        fields=fields,
        score=analysis.score,
        reasons=_reasons(analysis, items, sample),
        details="url" if "url" in fields else None,
        pipeline=_currency_step(names, columns),
    )


def _currency_step(names: list[str], columns: list[Column]) -> tuple[dict[str, Any], ...]:
    """The step that makes a price a number and keeps its currency in a field of its own."""
    for name, column in zip(names, columns, strict=True):
        if name == "price" and column.kind == "price":
            beside = "currency" if "currency" not in names else "price_currency"
            return ({"use": "number", "fields": [name], "currency": beside},)
    return ()


def rule_of(column: Column, css: str, name: str) -> Any:
    """The rule of a column, with the steps that its values ask for."""
    css = css or ":scope"
    if column.take == "text":
        expr = css
    elif column.take in {"own", "list"}:
        expr = f"{css}::text" if column.take == "own" else css
    else:
        expr = f"{css.removeprefix(':scope')}::attr({column.take})"
    steps: list[Any] = []
    if column.prefix:
        steps.append(
            {"use": "replace", "pattern": "^" + re.escape(column.prefix.strip()) + r"\s*", "with": ""}
        )
    if column.is_link or column.is_image:
        steps.extend([] if all(value.startswith("#") for value in column.found) else ["url"])
    else:
        steps.extend(_STEPS.get(column.kind, []))
    if name == "price":
        # With a currency to keep, the number is made by a step of the items.
        steps = [step for step in steps if step != "number"]
        if column.kind == "number":
            steps.append("number")
    rule: dict[str, Any] = {"type": "css", "expr": expr}
    if column.take == "list":
        rule["many"] = True
    if steps:
        rule["steps"] = steps
    return expr if len(rule) == 2 else rule


def _reasons(analysis: Analysis, items: str, sample: list[Element]) -> tuple[str, ...]:
    count = len(analysis.group.items)
    full = sum(1 for column in analysis.columns if column.coverage == 1)
    reasons = [f"{count} {'rows of a table' if analysis.header else f'<{sample[0].tag}> elements'} alike"]
    reasons.append(f"{full} of {len(analysis.columns)} fields in every item")
    if analysis.group.place < 1:
        reasons.append("stands in the margin of the page")
    if ":has(" in items:
        reasons.append("has no lasting name, so it is chosen by what is inside")
    return tuple(reasons)
