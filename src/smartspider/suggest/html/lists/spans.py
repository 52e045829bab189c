"""Items that span sibling elements: terms with definitions, headings with blocks, rows in pairs.

Such an item is its first element, the anchor; the values after it are found by their distance from it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from smartspider.suggest.html.class_names import is_stable
from smartspider.suggest.html.tree import Element, Tree

SPAN = "#span"
"""The tag of the virtual elements."""
_LEAST = 3
_LONGEST_SPAN = 40
_LONGEST_PERIOD = 6
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_SPANNING = frozenset(
    ("tbody", "table", "div", "section", "main", "article", "ul", "ol", "td", "body", "center")
)
Signature = tuple[str, tuple[str, ...], tuple[str, ...]]


class SpanElement(Element):
    """A virtual element whose children are an anchor and the siblings up to the next one."""

    __slots__ = ("anchor",)

    def __init__(self, members: list[Element]) -> None:
        first, last = members[0], members[-1]
        super().__init__(first.node, SPAN, first.parent, first.order)
        self.anchor = first
        self.attrs = {}
        self.classes = ()
        self.children = members
        self.end = last.end
        self.texts_from, self.texts_to = first.texts_from, last.texts_to


def find_spans(tree: Tree) -> list[list[Element]]:
    """Return lists of items that span siblings; equal parents are one list."""
    merged: dict[tuple[object, ...], list[Element]] = defaultdict(list)
    for parent in tree.elements:
        if len(parent.children) < 2 * _LEAST and parent.tag != "dl":
            continue
        for kind, items in _of_parent(parent):
            place = (kind, parent.tag, tuple(filter(is_stable, parent.classes)), parent.depth)
            merged[place].extend(items)
    return [items for items in merged.values() if len(items) >= _LEAST]


def _of_parent(parent: Element) -> Iterator[tuple[object, list[Element]]]:
    terms = [number for number, child in enumerate(parent.children) if child.tag == "dt"]
    if terms:
        items = _cut(parent.children, terms, ends=_HEADINGS)
        if sum(len(item.children) > 1 for item in items) * 2 > len(items):
            yield "dt", items
    if parent.tag == "dl":
        return
    if parent.tag not in _SPANNING:
        return
    for tag in _HEADINGS:
        places = [number for number, child in enumerate(parent.children) if child.tag == tag]
        items = _cut(parent.children, places, ends=_HEADINGS[: _HEADINGS.index(tag)])
        if len(items) >= _LEAST and sum(len(item.children) > 1 for item in items) * 5 > 4 * len(items):
            yield tag, items
    yield from _periodic(parent.children)


def _cut(children: list[Element], anchors: list[int], ends: tuple[str, ...] = ()) -> list[Element]:
    """Cut siblings at the anchors; a sibling with one of the tags `ends` ends the item before it."""
    items: list[Element] = []
    for number, start in enumerate(anchors):
        stop = anchors[number + 1] if number + 1 < len(anchors) else len(children)
        members = children[start : min(stop, start + _LONGEST_SPAN)]
        closing = next((place for place, one in enumerate(members) if one.tag in ends), len(members))
        items.append(SpanElement(members[:closing]))
    return items


def _periodic(children: list[Element]) -> Iterator[tuple[object, list[Element]]]:
    """Yield items of siblings that repeat in the same order: a title row, a details row, a spacer."""
    signatures = [_signature(child) for child in children]
    counts = Counter(signatures)
    for signature, count in counts.items():
        if count < _LEAST:
            continue
        places = [number for number, one in enumerate(signatures) if one == signature]
        gaps = Counter(after - before for before, after in pairwise(places))
        period, times = gaps.most_common(1)[0]
        if not 2 <= period <= _LONGEST_PERIOD or times < 0.8 * (count - 1):
            continue
        second = Counter(signatures[place + 1] for place in places if place + 1 < len(signatures))
        follower, agreeing = second.most_common(1)[0]
        is_different = follower[:2] != signature[:2] or (not signature[1] and follower[2] != signature[2])
        is_first = places[0] <= min(
            (signatures.index(one) for one, number in counts.items() if number >= 0.8 * count), default=0
        )
        if agreeing >= 0.8 * (count - 1) and is_different and is_first:
            items = _cut(children, places)
            yield signature, [SpanElement(item.children[:period]) for item in items]
            return


def _signature(element: Element) -> Signature:
    """Describe an element by its tag, its names and its children; of a row, by its cells."""
    names = tuple(name for name in element.classes if is_stable(name))
    tags = [child.tag for child in element.children[:12]]
    return element.tag, names, tuple(tags if element.tag == "tr" else sorted(set(tags)))
