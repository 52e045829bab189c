"""Drafts for the lists of elements of a page: cards, table rows, comments, terms with definitions."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.suggest.html.field_selectors import FieldSelectors, path_hook
from smartspider.suggest.html.fields.alternatives import merge_alternatives
from smartspider.suggest.html.fields.candidate_field import CandidateField
from smartspider.suggest.html.fields.completeness import completeness
from smartspider.suggest.html.fields.field_rules import FieldRule, css_rule, with_steps
from smartspider.suggest.html.fields.naming import name_fields, to_field_name
from smartspider.suggest.html.lists.groups import find_groups
from smartspider.suggest.html.lists.list_analysis import (
    ListAnalysis,
    analyze,
    demote_groups,
    demote_kinds,
    demote_parts,
    is_same_list,
    refine,
)
from smartspider.suggest.html.lists.scoring import field_weight
from smartspider.suggest.html.lists.tables import common_headers, row_selector
from smartspider.suggest.html.lists.xpath_rules import anchor_xpath, field_rule
from smartspider.suggest.html.selectors import ItemSelectors
from smartspider.suggest.html.tree import Tree
from smartspider.suggest.suggestion import Draft

MAX_FIELDS = 24
MAX_COLUMNS = 120
"""The most fields of a table: its columns and the links in them."""
MAX_LISTS = 4
_LEAST_SCORE = 1.0
_REFINED = 12
_TELLING_KINDS = frozenset(("price", "date", "rating", "email", "phone"))


def element_lists(tree: Tree) -> list[Draft]:
    """Return drafts for the lists of a page, best first."""
    analyses = [analysis for group in find_groups(tree) if (analysis := analyze(tree, group)) is not None]
    analyses.sort(key=lambda analysis: -analysis.score)
    analyses = [refine(tree, analysis) for analysis in analyses[:_REFINED]] + analyses[_REFINED:]
    demote_groups(tree, analyses)
    demote_parts(tree, analyses)
    demote_kinds(analyses)
    analyses.sort(key=lambda analysis: -analysis.score)
    writer = _DraftWriter(tree)
    drafts: list[Draft] = []
    used: list[ListAnalysis] = []
    for analysis in analyses:
        if len(drafts) >= MAX_LISTS or analysis.score < _LEAST_SCORE:
            break
        if any(is_same_list(analysis, other) for other in used):
            continue
        draft = writer.write(analysis)
        if draft is not None:
            drafts.append(draft)
            used.append(analysis)
    return drafts


class _DraftWriter:
    """Writes the rules of lists."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._selectors = ItemSelectors(tree)

    def write(self, analysis: ListAnalysis) -> Draft | None:
        """Return the draft of a list; None if no rule selects exactly its items.

        Where no rule leaves out the outliers, they stay in.
        """
        draft = self._draft(analysis)
        return self._draft(analysis.whole) if draft is None and analysis.whole is not None else draft

    def _draft(self, analysis: ListAnalysis) -> Draft | None:
        items, rules = self._span_rules(analysis) if analysis.is_span else self._css_rules(analysis)
        if items is None or not rules:
            return None
        rules = merge_alternatives(rules)
        candidates = [candidate for candidate, _ in rules]
        tables = analysis.group.tables
        headers = common_headers(tables) if tables else ()
        names = name_fields(candidates, {str(number): name for number, name in enumerate(headers, 1)})
        fields = {
            name: with_steps(rule, candidate, name, is_cell=bool(tables))
            for name, (candidate, rule) in zip(names, rules, strict=True)
        }
        fields |= _blank_columns(headers, candidates, fields)
        return Draft(
            kind="table" if tables else "list",
            items=items,
            fields=fields,
            score=analysis.score,
            reasons=_reasons(analysis, items),
            details="url" if "url" in fields else None,
            pipeline=_currency_step(names, candidates),
            features={**msgspec.structs.asdict(analysis.features), "among_others": analysis.penalty},
            completeness=completeness(self._tree, analysis.group.sample, candidates),
        )

    def _css_rules(self, analysis: ListAnalysis) -> tuple[Any, list[FieldRule]]:
        finder = FieldSelectors(analysis.group.sample)
        most = MAX_COLUMNS if analysis.group.tables else MAX_FIELDS
        found = [(one, *finder.best(one.slot)) for one in analysis.candidates[: 3 * most]]
        found = _weightiest([entry for entry in found if entry[2] >= 0.6], most)
        hooks = _hooks(found)
        tables = list(analysis.group.tables)
        items = row_selector(self._selectors, tables) if tables else None
        items = items or self._selectors.best(analysis.group.items, hooks)
        return items, [(one, css_rule(one, css, is_only=finder.is_only(css))) for one, css, _ in found]

    def _span_rules(self, analysis: ListAnalysis) -> tuple[Any, list[FieldRule]]:
        expr = anchor_xpath(self._tree, analysis.group.items)
        items = None if expr is None else {"type": "xpath", "expr": expr}
        rules: list[FieldRule] = [
            (one, rule) for one in analysis.candidates if (rule := field_rule(one)) is not None
        ]
        return items, rules[:MAX_FIELDS]


def _weightiest(
    found: list[tuple[CandidateField, str, float]], most: int
) -> list[tuple[CandidateField, str, float]]:
    """Return as many fields as there may be, in their order: those that tell most of the items."""
    if len(found) <= most:
        return found
    kept = sorted(range(len(found)), key=lambda number: -_telling_weight(found[number][0]))[:most]
    return [found[number] for number in sorted(kept)]


def _telling_weight(candidate: CandidateField) -> float:
    """Weigh a field; prices, dates, ratings and what the page names for machines come first."""
    is_telling = candidate.kind in _TELLING_KINDS or "itemprop" in candidate.slot.example.attrs
    return field_weight(candidate) + is_telling


def _blank_columns(
    headers: tuple[str, ...], candidates: list[CandidateField], fields: dict[str, Any]
) -> dict[str, Any]:
    """Return rules for the named columns of a table that are blank in all sampled rows."""
    known = {one.slot.key[2] for one in candidates if one.slot.key[:2] == ("cell", "nth")}
    blank = {to_field_name(name): n for n, name in enumerate(headers, 1) if name and str(n) not in known}
    return {name: f"> :nth-child({n})" for name, n in blank.items() if name and name not in fields}


def _hooks(found: list[tuple[CandidateField, str, float]]) -> list[str]:
    """Return selectors of elements that all items have, for `:has()`."""
    full = [
        (candidate, css)
        for candidate, css, share in sorted(found, key=lambda entry: not entry[1].startswith("h"))
        if share == candidate.coverage == 1.0 and css and not candidate.slot.is_list
    ]
    short = [css for _, css in full if "contains" not in css]
    return [*short[:6], *(path_hook(candidate.slot) for candidate, _ in full[:4])]


def _currency_step(names: list[str], candidates: list[CandidateField]) -> tuple[dict[str, Any], ...]:
    """Return the step that converts a price to a number and stores its currency in another field."""
    for name, candidate in zip(names, candidates, strict=True):
        if name == "price" and candidate.kind == "price":
            beside = "currency" if "currency" not in names else "price_currency"
            return ({"use": "number", "fields": [name], "currency": beside},)
    return ()


def _reasons(analysis: ListAnalysis, items: Any) -> tuple[str, ...]:
    group = analysis.group
    count = len(group.items)
    full = sum(1 for candidate in analysis.candidates if candidate.coverage == 1)
    if len(group.tables) > 1:
        like = "the same" if len({one.names for one in group.tables}) == 1 else "similar"
        reasons = [f"{count} rows of {len(group.tables)} tables with {like} headers"]
    elif group.tables:
        reasons = [f"{count} table rows below a header"]
    elif analysis.is_span:
        members = [child.tag for child in group.items[0].children[:3]]
        reasons = [f"{count} similar groups of siblings: {', '.join(f'<{tag}>' for tag in members)}"]
    else:
        reasons = [f"{count} similar <{group.items[0].tag}> elements"]
    reasons.append(f"{full} of {len(analysis.candidates)} fields in every item")
    if group.place < 1:
        reasons.append("is in the margin of the page")
    if isinstance(items, str) and ":has(" in items and not group.tables:
        reasons.append("has no stable class or id, so it is selected by its content")
    return tuple(reasons)
