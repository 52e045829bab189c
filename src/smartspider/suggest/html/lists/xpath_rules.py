"""XPath for items that span siblings. CSS does not reach the siblings of an item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from smartspider.suggest.html.class_names import is_stable
from smartspider.suggest.html.fields.candidate_field import CandidateField
from smartspider.suggest.html.fields.slots import Slot
from smartspider.suggest.html.lists.spans import SpanElement
from smartspider.suggest.html.tree import Element, Tree

Test = Callable[[Element], bool]
_MOST_LEVELS = 7


def anchor_xpath(tree: Tree, items: list[Element]) -> str | None:
    """Return an XPath that matches exactly the anchors of these items; None if there is none."""
    anchors = [item.anchor for item in items if isinstance(item, SpanElement)]
    wanted = {anchor.order for anchor in anchors}
    same_tag = [element for element in tree.elements if element.tag == anchors[0].tag]
    for expr, test in _anchor_candidates(anchors):
        if {element.order for element in same_tag if test(element)} == wanted:
            return expr
    return None


def _anchor_candidates(anchors: list[Element]) -> Iterator[tuple[str, Test]]:
    """Yield expressions by the anchors' names, then by those of their ancestors, nearest first."""
    steps = [*_steps_of(anchors), *_shape_steps(anchors)]
    yield from ((f"//{step}", test) for step, test in steps)
    above, between = anchors, ""
    for distance in range(1, _MOST_LEVELS):
        above = list({one.parent.order: one.parent for one in above if one.parent is not None}.values())
        if not above or len({one.tag for one in above}) > 1:
            return
        for place, is_place in _steps_of(above):
            for step, test in steps:
                yield f"//{place}{between}/{step}", _both(test, _at(distance, is_place))
        # lxml adds no `tbody`, so the path jumps over it.
        between = "/" if above[0].tag == "tbody" else f"/{above[0].tag}{between}"


def _shape_steps(anchors: list[Element]) -> Iterator[tuple[str, Test]]:
    """Yield a step for the number of children, if all anchors have the same."""
    tag, count = anchors[0].tag, len(anchors[0].children)
    if all(len(anchor.children) == count for anchor in anchors):
        yield f"{tag}[count(*)={count}]", lambda element: len(element.children) == count


def _steps_of(elements: list[Element]) -> Iterator[tuple[str, Test]]:
    """Yield a step for each name that all elements have, and one for their tag."""
    tag = elements[0].tag
    identity = elements[0].attrs.get("id", "")
    if len(elements) == 1 and identity and "'" not in identity:
        yield f"{tag}[@id='{identity}']", lambda element: element.attrs.get("id") == identity
    for name in _shared_names(elements):
        yield f"{tag}[{_has_class(name)}]", _named(name)
    if tag != "tbody":
        yield tag, _tagged(tag)


def field_rule(candidate: CandidateField) -> dict[str, Any] | None:
    """Return the rule of a field without steps; None if it has no place that is the same in most items."""
    path = _path(candidate.slot)
    if path is None:
        return None
    match candidate.take:
        case "text" | "list" | "lines":
            expr = path
        case "own" | "owns":
            expr = f"{path}/text()[normalize-space()][1]"
        case attribute:
            expr = f"{path}/@{attribute}"
    rule: dict[str, Any] = {"type": "xpath", "expr": expr.replace("./@", "@").replace("./text", "text")}
    if candidate.take in {"list", "lines"}:
        rule["many"] = True
    return {**rule, "join": "\n"} if candidate.take == "lines" else rule


def _path(slot: Slot) -> str | None:
    """Return the path from the anchor to a slot."""
    steps: list[Slot] = []
    at = slot
    while at.parent is not None:
        steps.append(at)
        at = at.parent
    if not steps:
        return None
    top = steps.pop()
    start = _sibling(at, top)
    if start is None:
        return None
    name = _telling_name(slot, top) if steps else None
    if name is not None:
        return f"{start}//{slot.example.tag}[{_has_class(name)}]"
    for step in reversed(steps):
        start += f"/{step.example.tag}" + ("" if step is slot and slot.is_list else f"[{_position(step)}]")
    return start


def _sibling(span: Slot, top: Slot) -> str | None:
    """Return the step from the anchor to a member of the item, by its usual distance."""
    distances = Counter(
        span.elements[index].children.index(element) for index, element in top.elements.items()
    )
    distance, times = distances.most_common(1)[0]
    if distance == 0:
        return "."
    tag = top.example.tag
    if times >= 0.9 * len(top.elements):
        return f"following-sibling::*[{distance}][self::{tag}]"
    is_always_there = len(top.elements) == len(span.elements)
    return f"following-sibling::{tag}[1]" if is_always_there else None


def _telling_name(slot: Slot, top: Slot) -> str | None:
    """Return a class whose first bearer in the member is the slot's element, in all items."""
    for name in _shared_names(list(slot.elements.values())):
        if all(
            index in top.elements and _first_named(top.elements[index], slot.example.tag, name) is element
            for index, element in slot.elements.items()
        ):
            return name
    return None


def _first_named(top: Element, tag: str, name: str) -> Element | None:
    waiting = list(reversed(top.children))
    while waiting:
        element = waiting.pop()
        if element.tag == tag and name in element.classes:
            return element
        waiting.extend(reversed(element.children))
    return None


def _position(slot: Slot) -> int:
    """Return the usual position among siblings of the same tag."""
    positions: Counter[int] = Counter()
    for element in slot.elements.values():
        siblings = [] if element.parent is None else element.parent.children
        same = [one for one in siblings if one.tag == element.tag]
        positions[1 + same.index(element) if element in same else 1] += 1
    return positions.most_common(1)[0][0]


def _shared_names(elements: list[Element]) -> list[str]:
    names = [name for name in elements[0].classes if is_stable(name) and "'" not in name]
    return [name for name in names if all(name in element.classes for element in elements)]


def _has_class(name: str) -> str:
    return f"has-class('{name}')"


def _named(name: str) -> Test:
    return lambda element: name in element.classes


def _tagged(tag: str) -> Test:
    return lambda element: element.tag == tag


def _at(distance: int, test: Test) -> Test:
    """Return a test of the ancestor at a distance."""

    def check(element: Element) -> bool:
        above: Element | None = element
        for _ in range(distance):
            above = None if above is None else above.parent
        return above is not None and test(above)

    return check


def _both(one: Test, other: Test) -> Test:
    return lambda element: one(element) and other(element)
