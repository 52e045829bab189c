"""Analyze groups of elements: their fields, features and relations."""

from __future__ import annotations

from bisect import bisect_right

from smartspider.suggest.html.candidate_field import CandidateField
from smartspider.suggest.html.fields import find_fields
from smartspider.suggest.html.groups import ElementGroup
from smartspider.suggest.html.scoring import ListFeatures, list_features
from smartspider.suggest.html.slots import Slot, find_slots
from smartspider.suggest.html.spans import SPAN
from smartspider.suggest.html.tree import Element, Tree

MAX_REFINED = 300
"""The most items of a list that are checked one by one for outliers."""


class ListAnalysis:
    """A group of elements, its fields and its features."""

    __slots__ = ("candidates", "features", "group", "penalty", "slots")

    def __init__(
        self,
        group: ElementGroup,
        slots: list[Slot],
        candidates: list[CandidateField],
        features: ListFeatures,
    ) -> None:
        self.group = group
        self.slots = slots
        self.candidates = candidates
        self.features = features
        self.penalty = 1.0

    @property
    def is_span(self) -> bool:
        """True if the items span siblings."""
        return self.group.items[0].tag == SPAN

    @property
    def score(self) -> float:
        """The score of the list."""
        return self.features.score * self.penalty


def analyze(tree: Tree, group: ElementGroup) -> ListAnalysis | None:
    """Return the fields and features of a group; None if it has no fields."""
    if len(group.items) < 2:
        return None
    sample = group.sample
    is_span = group.items[0].tag == SPAN
    members = set() if is_span else {item.order for item in group.items}
    slots = find_slots(tree, sample, members)
    candidates = find_fields(tree, slots, len(sample), is_table=bool(group.tables))
    if not candidates:
        return None
    share = _content_share(tree, group.items)
    features = list_features(candidates, len(group.items), group.place, share)
    return ListAnalysis(group, slots, candidates, features)


def refine(tree: Tree, analysis: ListAnalysis) -> ListAnalysis:
    """Drop items that lack most common fields, if that improves the score."""
    items = analysis.group.items
    usual = [candidate for candidate in analysis.candidates if 0.6 <= candidate.coverage < 1]
    if analysis.group.tables or analysis.is_span or not usual or not 4 <= len(items) <= MAX_REFINED:
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
    better = analyze(tree, ElementGroup(kept, analysis.group.place))
    return better if better is not None and better.score > analysis.score else analysis


def is_same_list(analysis: ListAnalysis, other: ListAnalysis) -> bool:
    """Return True if most items of one list are in, or contain, items of the other."""
    return (
        share_inside(analysis.group, other.group) >= 0.5 or share_inside(other.group, analysis.group) >= 0.5
    )


def share_inside(group: ElementGroup, other: ElementGroup) -> float:
    """Return the share of sampled items that are, or are inside, items of another group."""
    starts = [item.order for item in other.items]
    sample = group.sample
    inside = 0
    for item in sample:
        before = bisect_right(starts, item.order) - 1
        inside += before >= 0 and item.order < other.items[before].end
    return inside / len(sample)


def _content_share(tree: Tree, items: list[Element]) -> float:
    """Return the share of the page's text in the items; nested items count once."""
    total = end = 0
    for item in items:
        if item.order >= end:
            total += tree.size_of(item)
            end = item.end
    return total / max(1, tree.size)
