"""Build selectors relative to the items of a list, and try them in a sample."""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborNode, SelectolaxError

from smartspider.suggest.html.fields.slots import Slot
from smartspider.suggest.html.selector_names import (
    SEMANTIC,
    generated_selectors,
    name_selectors,
    quote_css,
    shared_selectors,
)
from smartspider.suggest.html.tree import Element

_MARK = "smartspider-suggest"
_SAMPLED = 12


class FieldSelectors:
    """Finds selectors relative to the items of one list, by trying them in a sample."""

    def __init__(self, sample: list[Element]) -> None:
        self._sample = sample
        self._found: dict[str, list[int | None]] = {}

    def best(self, slot: Slot) -> tuple[str, float]:
        """Return the selector whose first match is the slot's element in most items, and the
        share of these.
        """
        if slot.parent is None:
            return "", 1.0
        wanted = [
            slot.elements[index].node.mem_id if index in slot.elements else None
            for index in range(len(self._sample))
        ]
        if slot.is_list:
            return self._best_list(slot)
        best, best_share = "", -1.0
        for selector in _field_candidates(slot):
            found = self._firsts(selector)
            share = sum(one == other for one, other in zip(wanted, found, strict=True)) / len(wanted)
            if share > best_share + 0.001:
                best, best_share = selector, share
            if share == 1.0:
                break
        return best, best_share

    def _best_list(self, slot: Slot) -> tuple[str, float]:
        """Return the selector that matches all elements of the slot, and no others, in most items."""
        best, best_share = "", -1.0
        for selector in _field_candidates(slot):
            if "nth-of-type" in selector.rpartition(" ")[2]:
                continue
            same = 0
            for index, item in enumerate(self._sample):
                found = {node.mem_id for node in _matches(item, selector)}
                same += found == {element.node.mem_id for element in slot.repeats.get(index, ())}
            share = same / len(self._sample)
            if share > best_share + 0.001:
                best, best_share = selector, share
            if share == 1.0:
                break
        return best, best_share

    def is_only(self, selector: str) -> bool:
        """Return True if a selector matches at most one element in each item."""
        return not selector or all(len(_matches(item, selector)) <= 1 for item in self._sample)

    def _firsts(self, selector: str) -> list[int | None]:
        known = self._found.get(selector)
        if known is None:
            known = self._found[selector] = [_first(item, selector) for item in self._sample]
        return known


def _first(item: Element, selector: str) -> int | None:
    item.node.attrs[_MARK] = ""
    try:
        found = item.node.css_first(f"[{_MARK}] {selector}")
    except SelectolaxError:
        found = None
    finally:
        del item.node.attrs[_MARK]
    return None if found is None else found.mem_id


def _matches(item: Element, selector: str) -> list[LexborNode]:
    item.node.attrs[_MARK] = ""
    try:
        return item.node.css(f"[{_MARK}] {selector}")
    except SelectolaxError:
        return []
    finally:
        del item.node.attrs[_MARK]


def _field_candidates(slot: Slot) -> Iterator[str]:
    """Yield selectors for a slot, most stable first."""
    elements = list(slot.elements.values())[:_SAMPLED]
    steps = _steps(slot)
    labelled = _labelled(slot)
    yield from labelled
    names = shared_selectors(elements, name_selectors)
    tag = slot.example.tag
    yield from names
    if tag in SEMANTIC:
        yield tag
    places: list[str] = []
    for above in steps[1:]:
        places.extend(shared_selectors(list(above.elements.values())[:_SAMPLED], name_selectors))
        if above.example.tag in SEMANTIC:
            places.append(above.example.tag)
    for place in places:
        yield from (f"{place} {name}" for name in [*names, tag])
    for place in places:
        yield f"{place} > {tag}"
        yield f"{place} {tag}:nth-of-type({_number(slot)})"
    yield tag
    if slot.is_list:
        yield _path(steps[1:], is_exact=False) + f" > {tag}" if steps[1:] else f"> {tag}"
    yield _path(steps, is_exact=False)
    yield _path(steps, is_exact=True)
    yield from shared_selectors(elements, generated_selectors)


def path_hook(slot: Slot) -> str:
    """Return the child path of a slot by tags, with the name of its last element."""
    steps = _steps(slot)
    name = next(
        iter(shared_selectors(list(slot.elements.values())[:_SAMPLED], name_selectors)), slot.example.tag
    )
    if name.startswith((".", "[")):
        name = slot.example.tag + name
    return "> " + " > ".join([*(step.example.tag for step in reversed(steps[1:])), name])


def _steps(slot: Slot) -> list[Slot]:
    steps = []
    at: Slot | None = slot
    while at is not None and at.parent is not None:
        steps.append(at)
        at = at.parent
    return steps


def _labelled(slot: Slot) -> Iterator[str]:
    above: Slot | None = slot
    while above is not None and above.parent is not None and not above.label:
        above = above.parent
    if above is None or above.label_element is None:
        return
    label = above.label_element
    name = next(name_selectors(label), label.tag)
    said = f":lexbor-contains({quote_css(above.label)})"
    if not label.own and label.children:  # the text of a label is that of its own nodes
        said = f":has({label.children[0].tag}{said})"
    head = f"{name}{said}"
    if label is slot.example:
        yield head
    elif above is slot and label.parent is slot.example.parent:
        yield f"{head} + {slot.example.tag}"
    elif above is slot:
        yield f"{slot.example.tag}:has(> {head})"
    else:
        own = next(name_selectors(slot.example), slot.example.tag)
        if label is above.example:
            yield f"{head} {own}"
        yield f"{head} + {own}"
        yield f"{head} + {above.example.tag} {own}"
        yield f"{above.example.tag}:has({head}) {own}"


def _number(slot: Slot) -> int:
    """Return the most common position among siblings of the same tag."""
    numbers: dict[int, int] = {}
    for element in slot.elements.values():
        above = element.parent
        same = [child for child in above.children if child.tag == element.tag] if above is not None else []
        number = same.index(element) + 1 if element in same else 1
        numbers[number] = numbers.get(number, 0) + 1
    return max(numbers, key=lambda number: numbers[number])


def _path(steps: list[Slot], *, is_exact: bool) -> str:
    """Return the child path from the item."""
    words = []
    for step in reversed(steps):
        name = step.example.tag
        siblings = step.example.parent.children if step.example.parent is not None else []
        if is_exact or sum(child.tag == name for child in siblings) > 1:
            name = f"{name}:nth-of-type({_number(step)})"
        words.append(name)
    return "> " + " > ".join(words)
