"""Fields that take turns: of each item, one place or another has the value."""

from __future__ import annotations

import re

from smartspider.suggest.html.class_names import split_words
from smartspider.suggest.html.fields.attributes import IMAGE_ATTRS, PLACEHOLDERS
from smartspider.suggest.html.fields.candidate_field import CandidateField
from smartspider.suggest.html.fields.field_rules import FieldRule, Rule

_MOST = 0.9
"""The share of items that alternatives have together."""
_OLD_WORDS = frozenset(
    "old was before del strike striked crossed alt alter statt list rrp uvp msrp retail through "
    "previous original instead sonst bisher ancien barre tachado".split()
)
_OLD_TAGS = frozenset(("del", "s", "strike"))


def merge_alternatives(rules: list[FieldRule]) -> list[FieldRule]:
    """Merge fields that never come together into one, whose rules are tried in turn."""
    merged: list[FieldRule] = []
    for candidate, rule in rules:
        place = next((number for number, (one, _) in enumerate(merged) if _takes_turns(one, candidate)), None)
        if place is None:
            merged.append((candidate, rule))
            continue
        other, its = merged[place]
        values = tuple(mine or more for mine, more in zip(other.values, candidate.values, strict=True))
        both = CandidateField(other.slot, other.take, values, other.label)
        both.kind, both.prefix, both.ending = other.kind, other.prefix, other.ending
        merged[place] = both, [*_alternatives(its), *_alternatives(rule)]
    return [(candidate, _with_lazy(candidate, rule)) for candidate, rule in merged]


def _alternatives(rule: Rule) -> list[dict[str, object]]:
    return rule if isinstance(rule, list) else [rule]


def _takes_turns(one: CandidateField, other: CandidateField) -> bool:
    """Return True for two fields of the same kind of which each item has at most one, and nearly all have."""
    is_labelled = one.slot.label != other.slot.label and one.kind != "price"
    if one.prefix != other.prefix or one.ending != other.ending or is_labelled:
        return False
    pairs = list(zip(one.values, other.values, strict=True))
    if any(mine and its for mine, its in pairs) or not _is_same_kind(one, other):
        return False
    return sum(bool(mine or its) for mine, its in pairs) >= _MOST * len(pairs)


def _is_same_kind(one: CandidateField, other: CandidateField) -> bool:
    if one.is_image or one.is_link:
        return one.take == other.take and one.is_image == other.is_image
    if one.kind == "price":
        return other.kind == "price" and not is_old_price(one) and not is_old_price(other)
    mine, its = one.slot.example, other.slot.example
    is_alike = mine.tag == its.tag and mine.classes == its.classes
    return one.take == other.take and one.kind == other.kind and is_alike and bool(mine.classes)


def is_old_price(candidate: CandidateField) -> bool:
    """Return True for the price before a reduction: by its name, its label, or a line through it."""
    slot = candidate.slot
    while slot.parent is not None:
        element = slot.example
        words = {word for name in (*element.classes, slot.label) for word in split_words(name)}
        if element.tag in _OLD_TAGS or words & _OLD_WORDS or "line-through" in element.attrs.get("style", ""):
            return True
        slot = slot.parent
    return False


def _with_lazy(candidate: CandidateField, rule: Rule) -> Rule:
    """Add `src` to the rule of an image that is loaded lazily, if only some items have the lazy attribute."""
    if not candidate.is_image or isinstance(rule, list) or candidate.take in {"src", "style"}:
        return rule
    images = [image.attrs for image in candidate.slot.elements.values()]
    is_missing = any(not one.get(candidate.take) and _is_real(one.get("src", "")) for one in images)
    if not is_missing or candidate.take not in IMAGE_ATTRS:
        return rule
    plain = re.sub(r"(::attr\(|@)[\w-]+(\)?)$", r"\g<1>src\g<2>", str(rule["expr"]))
    return [rule, {**rule, "expr": plain}]


def _is_real(source: str) -> bool:
    return bool(source) and not source.startswith(PLACEHOLDERS)
