"""Lists of elements: product cards, table rows, comments, and terms with definitions."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from smartspider.suggest.html.class_names import is_stable
from smartspider.suggest.html.fields import CandidateField, find_fields
from smartspider.suggest.html.groups import ElementGroup, find_groups
from smartspider.suggest.html.naming import name_fields
from smartspider.suggest.html.selectors import FieldSelectors, ItemSelectors
from smartspider.suggest.html.slots import Slot, find_slots
from smartspider.suggest.html.tables import TableHeader, find_header
from smartspider.suggest.html.tree import Element, Tree
from smartspider.suggest.suggestion import Draft

MAX_FIELDS = 24
MAX_LISTS = 4
_STEPS: dict[str, list[str]] = {"price": ["number"], "date": ["date"]}
_LEAST_SCORE = 2.0
_REFINED = 12
MAX_REFINED = 300
"""The most items of a list that are checked one by one for outliers."""


class ListAnalysis:
    """A group of elements and its fields."""

    __slots__ = ("candidates", "group", "header", "score", "slots")

    def __init__(
        self,
        group: ElementGroup,
        header: TableHeader | None,
        slots: list[Slot],
        candidates: list[CandidateField],
    ) -> None:
        self.group = group
        self.header = header
        self.slots = slots
        self.candidates = candidates
        self.score = _score(group, candidates)


def element_lists(tree: Tree) -> list[Draft]:
    """Return drafts for the lists of a page, best first."""
    analyses = [analysis for group in find_groups(tree) if (analysis := _analyze(tree, group)) is not None]
    analyses.sort(key=lambda analysis: -analysis.score)
    refined = [_refine(tree, analysis) for analysis in analyses[:_REFINED]]
    analyses = sorted(refined + analyses[_REFINED:], key=lambda analysis: -analysis.score)
    selectors = ItemSelectors(tree)
    drafts: list[Draft] = []
    used: list[ListAnalysis] = []
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


def _analyze(tree: Tree, group: ElementGroup) -> ListAnalysis | None:
    header = find_header(tree, group.items)
    if header is not None:
        group = ElementGroup(header.rows, group.text_weight, group.position_weight)
    if len(group.items) < 2:
        return None
    sample = group.sample
    slots = find_slots(tree, sample, {item.order for item in group.items})
    candidates = find_fields(tree, slots, len(sample), keeps_constant=header is not None)
    if not candidates:
        return None
    return ListAnalysis(group, header, slots, candidates)


def _refine(tree: Tree, analysis: ListAnalysis) -> ListAnalysis:
    """Drop items that lack most common fields, if that improves the score."""
    items = analysis.group.items
    usual = [candidate for candidate in analysis.candidates if 0.6 <= candidate.coverage < 1]
    if analysis.header is not None or not usual or not 4 <= len(items) <= MAX_REFINED:
        return analysis
    candidates = find_fields(tree, find_slots(tree, items, {item.order for item in items}), len(items))
    usual = [candidate for candidate in candidates if candidate.coverage >= 0.6]
    kept = [
        item
        for index, item in enumerate(items)
        if 2 * sum(1 for candidate in usual if candidate.values[index]) >= len(usual)
    ]
    if len(kept) == len(items) or len(kept) < 2:
        return analysis
    better = _analyze(tree, ElementGroup(kept, analysis.group.text_weight, analysis.group.position_weight))
    return better if better is not None and better.score > analysis.score else analysis


def _score(group: ElementGroup, candidates: list[CandidateField]) -> float:
    """Score a list by the coverage of its fields and the number of its items."""
    weight_sum = sum(_field_weight(candidate) for candidate in candidates)
    full = sum(candidate.coverage for candidate in candidates if candidate.coverage > 0.5)
    steady = full / max(1, sum(1 for candidate in candidates if candidate.coverage > 0.5))
    most = max(candidate.coverage for candidate in candidates)
    if len(candidates) <= 2 and not any(len(text) > 3 for text in _texts(candidates)):
        weight_sum *= 0.3  # letters of an index, numbers of a pager
    size = math.log2(1 + min(len(group.items), 200))
    return math.pow(weight_sum, 0.9) * size * group.position_weight * steady * steady * most


def _texts(candidates: list[CandidateField]) -> Iterator[str]:
    for candidate in candidates:
        if candidate.take in {"text", "own", "list"}:
            yield from candidate.found


def _field_weight(candidate: CandidateField) -> float:
    found = candidate.found
    distinct = len(set(found)) / len(found)
    weight = {"list": 0.3, "text": 1.0, "own": 1.0, "href": 0.8}.get(candidate.take, 0.6)
    return weight * candidate.coverage * (0.3 + 0.7 * distinct)


def _is_same_list(analysis: ListAnalysis, other: ListAnalysis) -> bool:
    """Return True if most items of one list are in, or contain, items of the other."""
    return (
        _share_inside(analysis.group, other.group) >= 0.5 or _share_inside(other.group, analysis.group) >= 0.5
    )


def _share_inside(group: ElementGroup, other: ElementGroup) -> float:
    """Return the share of sampled items that are, or are inside, items of another group."""
    starts = [item.order for item in other.items]
    sample = group.sample
    inside = 0
    for item in sample:
        before = bisect_right(starts, item.order) - 1
        inside += before >= 0 and item.order < other.items[before].end
    return inside / len(sample)


def _draft(analysis: ListAnalysis, selectors: ItemSelectors) -> Draft | None:
    sample = analysis.group.sample
    finder = FieldSelectors(sample)
    found = [(candidate, *finder.best(candidate.slot)) for candidate in analysis.candidates[: 3 * MAX_FIELDS]]
    found = [entry for entry in found if entry[2] >= 0.6][:MAX_FIELDS]
    hooks = [
        css
        for candidate, css, share in sorted(found, key=lambda entry: not entry[1].startswith("h"))
        if share == 1.0
        and candidate.coverage == 1.0
        and css
        and candidate.take != "list"
        and "contains" not in css
    ]
    items = None
    if analysis.header is not None:
        items = analysis.header.selector(selectors)
    items = items or selectors.best(analysis.group.items, hooks[:6])
    if items is None:
        return None
    candidates = [candidate for candidate, _, _ in found]
    names = name_fields(candidates, analysis.header.names if analysis.header else None)
    fields = {
        name: make_rule(candidate, css, name) for name, (candidate, css, _) in zip(names, found, strict=True)
    }
    return Draft(
        kind="table" if analysis.header else "list",
        items=items,
        fields=fields,
        score=analysis.score,
        reasons=_reasons(analysis, items, sample),
        details="url" if "url" in fields else None,
        pipeline=_currency_step(names, candidates),
    )


def _currency_step(names: list[str], candidates: list[CandidateField]) -> tuple[dict[str, Any], ...]:
    """Return the step that converts a price to a number and stores its currency in another field."""
    for name, candidate in zip(names, candidates, strict=True):
        if name == "price" and candidate.kind == "price":
            beside = "currency" if "currency" not in names else "price_currency"
            return ({"use": "number", "fields": [name], "currency": beside},)
    return ()


def make_rule(candidate: CandidateField, css: str, name: str) -> Any:
    """Return the rule of a field, with steps for its values."""
    css = css or ":scope"
    if candidate.take == "text":
        expr = css
    elif candidate.take in {"own", "list"}:
        expr = f"{css}::text" if candidate.take == "own" else css
    else:
        expr = f"{css.removeprefix(':scope')}::attr({candidate.take})"
    steps: list[Any] = []
    if candidate.prefix:
        steps.append(
            {"use": "replace", "pattern": "^" + re.escape(candidate.prefix.strip()) + r"\s*", "with": ""}
        )
    if candidate.is_link or candidate.is_image:
        steps.extend([] if all(value.startswith("#") for value in candidate.found) else ["url"])
    else:
        steps.extend(_STEPS.get(candidate.kind, []))
    if name == "price":
        # If the currency is kept, a pipeline step converts the number.
        steps = [step for step in steps if step != "number"]
        if candidate.kind == "number":
            steps.append("number")
    rule: dict[str, Any] = {"type": "css", "expr": expr}
    if candidate.take == "list":
        rule["many"] = True
    if steps:
        rule["steps"] = steps
    return expr if len(rule) == 2 else rule


def _reasons(analysis: ListAnalysis, items: str, sample: list[Element]) -> tuple[str, ...]:
    count = len(analysis.group.items)
    full = sum(1 for candidate in analysis.candidates if candidate.coverage == 1)
    reasons = [f"{count} similar {'table rows' if analysis.header else f'<{sample[0].tag}> elements'}"]
    reasons.append(f"{full} of {len(analysis.candidates)} fields in every item")
    if analysis.group.position_weight < 1:
        reasons.append("is in the margin of the page")
    if ":has(" in items:
        reasons.append("has no stable class or id, so it is selected by its content")
    return tuple(reasons)


_LEAST_TERMS = 5
_MOST_LISTS = 50


def term_lists(tree: Tree) -> list[Draft]:
    """Return drafts for lists of terms with definitions. A value outside its item needs XPath."""
    lists = [element for element in tree.elements if element.tag == "dl"][:_MOST_LISTS]
    drafts = []
    for one in lists:
        terms = [child for child in one.children if child.tag == "dt"]
        texts = [child for child in one.children if child.tag == "dd"]
        if len(terms) < _LEAST_TERMS or not len(terms) <= len(texts) <= 2 * len(terms):
            continue
        if len({tree.text(term, 80) for term in terms}) < len(terms):
            continue
        fields = {"term": {"type": "xpath", "expr": "."}, "definition": _after("dd[1]")}
        if all(any(child.tag == "a" for child in tree.inside(term)) for term in terms):
            fields["url"] = {"type": "xpath", "expr": ".//a/@href"}
        score = 2.0 * len(terms) ** 0.5
        reason = f"{len(terms)} terms with definitions"
        drafts.append(Draft("list", {"type": "xpath", "expr": _place(one, lists)}, fields, score, (reason,)))
    return drafts


def _after(what: str) -> dict[str, str]:
    return {"type": "xpath", "expr": f"following-sibling::{what}"}


def _place(element: Element, lists: list[Element]) -> str:
    if len(lists) == 1:
        return "//dl/dt"
    for name in element.classes:
        if is_stable(name) and sum(name in other.classes for other in lists) == 1:
            return f"//dl[has-class('{name}')]/dt"
    for above in (element, *element.ancestors()):
        identity = above.attrs.get("id", "")
        if identity and "'" not in identity:
            return f"//*[@id='{identity}']{'' if above is element else '//dl'}/dt"
    return "//dl/dt"
