"""Write the rules of fields, with steps for their values."""

from __future__ import annotations

import re
from typing import Any

from smartspider.suggest.html.fields.attributes import BACKGROUND, constant_classes
from smartspider.suggest.html.fields.candidate_field import CandidateField

Rule = dict[str, Any] | list[dict[str, Any]]
"""A rule, or alternatives of which the first that matches is used."""
FieldRule = tuple[CandidateField, Rule]

_STEPS: dict[str, list[str]] = {"price": ["number"], "date": ["date"]}
_CODE_WORDS = frozenset(
    "id code isbn issn ean sku zip postcode phone tel nr no number version since release year".split()
)
_RATING_NAMES = frozenset("rating score stars votes points".split())


def css_rule(candidate: CandidateField, css: str, *, is_only: bool) -> dict[str, Any]:
    """Return the CSS rule of a field. `is_only`: the selector matches one element in each item."""
    css = css or ":scope"
    match candidate.take:
        case "text" | "list" | "lines":
            expr = css
        case "own" | "owns":
            expr = f"{css}::text"
        case attribute:
            expr = f"{css.removeprefix(':scope')}::attr({attribute})"
    rule: dict[str, Any] = {"type": "css", "expr": expr}
    if candidate.take == "list":
        rule["many"] = True
    if candidate.take == "lines":
        rule = {**rule, "many": True, "join": "\n"}
    if candidate.take == "owns":
        # The first text node is blank or a separator; other elements would add their texts.
        rule = {**rule, "many": True, "join": " "} if is_only else {**rule, "expr": css}
    return rule


def with_steps(rule: Rule, candidate: CandidateField, name: str, *, is_cell: bool) -> Any:
    """Add the steps of a field to its rule; a CSS rule without options is a string."""
    if isinstance(rule, list):
        return [with_steps(one, candidate, name, is_cell=is_cell) for one in rule]
    steps = [*_cut_steps(candidate), *_value_steps(candidate, name, is_cell=is_cell)]
    if steps:
        rule = {**rule, "steps": steps}
    return rule["expr"] if rule.keys() == {"type", "expr"} and rule["type"] == "css" else rule


def _cut_steps(candidate: CandidateField) -> list[Any]:
    steps: list[Any] = []
    if candidate.prefix:
        pattern = "^" + re.escape(candidate.prefix.strip()) + r"\s*"
        steps.append({"use": "replace", "pattern": pattern, "with": ""})
    if candidate.ending:
        pattern = r"\s*" + re.escape(candidate.ending.strip()) + "$"
        steps.append({"use": "replace", "pattern": pattern, "with": ""})
    if candidate.take == "class":
        names = "|".join(re.escape(name) for name in sorted(constant_classes(candidate.slot)))
        pattern = rf"(?:^|\s)(?!(?:{names})(?:\s|$))(\S+)" if names else r"\S+"
        steps.append({"use": "extract", "pattern": pattern})
    elif candidate.take == "style":
        pattern = BACKGROUND.pattern if candidate.is_image else r"width:\s*([\d.]+)"
        steps.append({"use": "extract", "pattern": pattern})
    elif candidate.take.endswith("srcset"):
        steps.append({"use": "extract", "pattern": r"[^\s,]+"})
    return steps


def _value_steps(candidate: CandidateField, name: str, *, is_cell: bool) -> list[Any]:
    if candidate.is_link or candidate.is_image:
        return _url_steps(candidate)
    if name == "price":
        # If the currency is kept, a pipeline step converts the number.
        return ["number"] if candidate.kind == "number" else []
    is_measured = is_cell or name in _RATING_NAMES
    if candidate.kind == "number" and is_measured and _is_quantity(candidate, name):
        return ["number"]
    return list(_STEPS.get(candidate.kind, []))


def _url_steps(candidate: CandidateField) -> list[Any]:
    """Convert links to absolute URLs; fragments stay where they tell items apart."""
    fragments = {value.partition("#")[2] for value in candidate.found if "#" in value}
    keeps = candidate.is_link and 2 * len(fragments) > len(candidate.found)
    return [{"use": "url", "fragment": True}] if keeps else ["url"]


def _is_quantity(candidate: CandidateField, name: str) -> bool:
    """Return True for numbers that are not codes: no leading zeros, not called a code."""
    return not _CODE_WORDS.intersection(name.split("_")) and not any(
        re.match(r"0\d", value.strip()) for value in candidate.found
    )
