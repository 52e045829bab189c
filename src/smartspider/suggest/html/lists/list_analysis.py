"""Analyze groups of elements: their fields, features and relations."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict

from smartspider.suggest.html.class_names import is_stable, split_words
from smartspider.suggest.html.fields.candidate_field import CandidateField
from smartspider.suggest.html.fields.find_fields import find_fields
from smartspider.suggest.html.fields.slots import Slot, find_slots
from smartspider.suggest.html.lists.groups import ElementGroup
from smartspider.suggest.html.lists.scoring import ListFeatures, field_weight, list_features
from smartspider.suggest.html.lists.spans import SPAN
from smartspider.suggest.html.tree import Element, Tree

MAX_REFINED = 1500
"""The most items of a list that are checked one by one for outliers."""
_TITLE = 2.0
"""The weight of a title with its link."""
_SECTION = 3.0
"""The weight of a title and a link to more."""
_TEXT = 1.05
"""The weight of one text."""
_RECORD = 1.5
"""The weight of the least that is more than a text."""
_NOTHING = 0.3
"""The weight of what is too little for a title."""
_USUAL = 0.8
_FEW = 4
_RARE = 0.3
"""The share of items with a value that does not count."""
_LABELS, _PROSE = 0.4, 0.5
_LEAST_LABELS = 8
_LONGEST_LABEL = 40
_TURNS = frozenset(("alt", "odd", "even", "alternate", "alternating"))
"""Words for every second row."""
_LEAST_OF_ALL = 0.8
"""The score of a list of several kinds, compared with that of one kind, that is enough to come first."""
_COMPARED = 200
_OF_NAMED, _OF_OTHERS = 0.3, 0.5
"""The share of the usual fields that an item has at least: of siblings with one name, and of others."""
_GROUP_PENALTY = 0.25
_PART_PENALTY = 0.6


class ListAnalysis:
    """A group of elements, its fields and its features."""

    __slots__ = ("candidates", "features", "group", "penalty", "slots", "whole")

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
        self.whole: ListAnalysis | None = None
        """The list with the outliers that were dropped from this one."""

    @property
    def is_span(self) -> bool:
        """True if the items span siblings."""
        return self.group.items[0].tag == SPAN

    @property
    def worth(self) -> float:
        """The weight of its fields."""
        return sum(map(field_weight, self.candidates))

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
    place = group.place * (0.7 + 0.3 * _coherence(sample))
    if _has_labels(candidates):
        place *= _LABELS
    elif _is_prose(candidates):
        place *= _PROSE
    features = list_features(candidates, len(group.items), place, share)
    return ListAnalysis(group, slots, candidates, features)


def _has_labels(candidates: list[CandidateField]) -> bool:
    """Return True for labels with values: the first text comes again and again, the second does not.

    A linked title after its category is no value.
    """
    if any(candidate.is_link and candidate.coverage >= _USUAL for candidate in candidates):
        return False
    both = [candidate for candidate in candidates if candidate.is_text and candidate.coverage >= _RARE]
    texts = [candidate.found for candidate in both]
    if len(texts) != 2 or len(texts[0]) < _LEAST_LABELS or both[0].kind != "text":
        return False
    first, second = (len(set(found)) / len(found) for found in texts)
    return first < 0.4 and second > 1.5 * first and max(map(len, texts[0])) <= _LONGEST_LABEL


def _is_prose(candidates: list[CandidateField]) -> bool:
    """Return True for the paragraphs of a text."""
    texts = [candidate for candidate in candidates if candidate.is_text]
    return (
        len(texts) == 1 and len(candidates) == 1 and texts[0].slot.example.tag in {"p", "pre", "blockquote"}
    )


def refine(tree: Tree, analysis: ListAnalysis) -> ListAnalysis:
    """Drop items that lack most common fields, if that improves the score."""
    items = analysis.group.items
    usual = [candidate for candidate in analysis.candidates if 0.6 <= candidate.coverage < 1]
    if analysis.group.tables or analysis.is_span or not usual or not 4 <= len(items) <= MAX_REFINED:
        return analysis
    candidates = find_fields(tree, find_slots(tree, items, {item.order for item in items}), len(items))
    usual = [candidate for candidate in candidates if candidate.coverage >= 0.6]
    needed = (_OF_NAMED if _are_named_siblings(items) else _OF_OTHERS) * len(usual)
    kept = [
        item
        for index, item in enumerate(items)
        if sum(1 for candidate in usual if candidate.values[index]) >= needed
    ]
    if len(kept) == len(items) or len(kept) < 2:
        return analysis
    better = analyze(tree, ElementGroup(kept, analysis.group.place))
    if better is None or better.score <= analysis.score:
        return analysis
    better.whole = analysis
    return better


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


def demote_groups(tree: Tree, analyses: list[ListAnalysis]) -> None:
    """Rank the items of groups above the groups: rows of cards, letters of an index, days of an agenda.

    A list is one of groups if items of another list make up most of it, several in each, and it has no more
    than a title of its own.
    """
    for outer in analyses:
        for inner in analyses:
            if len(inner.group.items) < 1.5 * len(outer.group.items) or inner.group is outer.group:
                continue
            if share_inside(inner.group, outer.group) < 0.9 or not _is_made_of(tree, outer, inner):
                continue
            if not _is_alike(inner.group.sample) and not _is_alike_inside(outer.group, inner.group):
                continue
            own = sum(
                field_weight(field)
                for field in outer.candidates
                if not _is_inside(field.slot.example, inner.group.items)
            )
            if _is_group(own, outer, inner):
                outer.penalty = min(outer.penalty, _GROUP_PENALTY)


def _is_group(own: float, outer: ListAnalysis, inner: ListAnalysis) -> bool:
    """Return True if the items of a list are little more than those of another, `own` being the rest."""
    common = [field for field in inner.candidates if field.coverage >= _USUAL]
    usual = sum(map(field_weight, common))
    total = inner.worth * len(inner.group.items) / len(outer.group.items)
    if _are_linked_values(outer.group, inner) or _has_labels(inner.candidates):
        return False
    if usual < _RECORD and (own > _NOTHING or len(common) < 2):
        return False
    if own <= _TITLE and own < usual and outer.worth <= 1.3 * (own + total):
        return True
    # A title and a link to more, around many items that say more than these.
    return own <= _SECTION and own < inner.worth and 4 * own < total and outer.worth <= 1.6 * (own + total)


def _are_linked_values(outer: ElementGroup, inner: ListAnalysis) -> bool:
    """Return True for plain links that are a fixed few in each item: an entry and its section."""
    if inner.group.items[0].tag != "a" or any(field.slot.parent for field in inner.candidates):
        return False
    starts = [item.order for item in inner.group.items]
    counts = Counter(bisect_left(starts, item.end) - bisect_left(starts, item.order) for item in outer.sample)
    number, times = counts.most_common(1)[0]
    return 1 < number <= _FEW and times >= _USUAL * counts.total()


def demote_kinds(analyses: list[ListAnalysis]) -> None:
    """Rank a list of several kinds of items above one of its kinds: functions and classes, news and videos.

    All items are siblings with a common class name; what has fewer fields in common scores too low.
    """
    wholes = [one for one in analyses if not one.is_span and _are_named_siblings(one.group.items)]
    for whole in wholes:
        for kind in analyses:
            if (
                len(kind.group.items) < len(whole.group.items)
                and kind.score > whole.score >= _LEAST_OF_ALL * kind.score
                and share_inside(kind.group, whole.group) == 1
            ):
                kind.penalty *= 0.99 * whole.score / kind.score


def _are_named_siblings(items: list[Element]) -> bool:
    parent, names = items[0].parent, set(filter(is_stable, items[0].classes))
    return bool(names) and all(item.parent is parent and not names.isdisjoint(item.classes) for item in items)


def demote_parts(tree: Tree, analyses: list[ListAnalysis]) -> None:
    """Rank items above their parts: links in rows, boxes in cards.

    A list is one of parts if all its items are in items of another list, which have much more text.
    """
    for outer in analyses:
        if outer.features.steady < 0.5:
            continue
        for inner in analyses:
            if (
                inner.group is not outer.group
                and len(inner.group.items) >= 0.8 * len(outer.group.items)
                and share_inside(inner.group, outer.group) >= 0.9
                and _share_holding(outer.group, inner.group) >= 0.8
                and (_is_less(tree, inner, outer) or _are_linked_values(outer.group, inner))
            ):
                inner.penalty = min(inner.penalty, _PART_PENALTY)


def _is_less(tree: Tree, inner: ListAnalysis, outer: ListAnalysis) -> bool:
    """Return True if a list inside another lacks much of its text, or is one text of several."""
    if _content_share(tree, inner.group.items) < 0.7 * _content_share(tree, outer.group.items):
        return True
    return inner.worth <= _TEXT and outer.worth > 1.4 * inner.worth


def _share_holding(group: ElementGroup, other: ElementGroup) -> float:
    """Return the share of sampled items that have an item of another group inside."""
    starts = [item.order for item in other.items]
    sample = group.sample
    return sum(bisect_left(starts, item.order) < bisect_left(starts, item.end) for item in sample) / len(
        sample
    )


def _is_made_of(tree: Tree, outer: ListAnalysis, inner: ListAnalysis) -> bool:
    """Return True if most of the text of one list is in the items of another."""
    return _content_share(tree, inner.group.items) > 0.6 * _content_share(tree, outer.group.items)


def _is_alike(items: list[Element]) -> bool:
    """Return True if most elements have the same class names: parts of one item have different ones."""
    return _most_alike(items) >= 0.8 * len(items)


def _is_alike_inside(outer: ElementGroup, inner: ElementGroup) -> bool:
    """Return True if most items look like the others in the same group, as films and people found do."""
    starts = [item.order for item in outer.items]
    groups: dict[int, list[Element]] = defaultdict(list)
    for item in inner.items[:_COMPARED]:
        groups[bisect_right(starts, item.order)].append(item)
    several = [items for items in groups.values() if len(items) > 2]
    count = sum(map(len, several))
    return 2 * len(several) > len(groups) and sum(map(_most_alike, several)) >= 0.8 * count


def _most_alike(items: list[Element]) -> int:
    """Return the number of elements with the most common class names."""
    looks = Counter(
        frozenset(word for name in item.classes if is_stable(name) for word in split_words(name)) - _TURNS
        for item in items
    )
    return looks.most_common(1)[0][1]


def _is_inside(element: Element, items: list[Element]) -> bool:
    before = bisect_right(items, element.order, key=lambda item: item.order) - 1
    return before >= 0 and element.order < items[before].end


def _coherence(sample: list[Element]) -> float:
    """Return the share of items whose parents look the same."""
    parents = Counter(
        (item.parent.tag, tuple(filter(is_stable, item.parent.classes)))
        for item in sample
        if item.parent is not None
    )
    return parents.most_common(1)[0][1] / len(sample) if parents else 1.0


def _content_share(tree: Tree, items: list[Element]) -> float:
    """Return the share of the page's text in the items; nested items count once."""
    total = end = 0
    for item in items:
        if item.order >= end:
            total += tree.size_of(item)
            end = item.end
    return total / max(1, tree.size)
