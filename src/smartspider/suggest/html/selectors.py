"""Build stable selectors and verify them on the page.

Meaningful names come first (itemprop, data attributes, class words), then tags and structure, then generated
class names. An item is never selected by its position; what contains the items is, if nothing else does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile

from selectolax.lexbor import LexborNode, SelectolaxError

from smartspider.suggest.html.class_names import is_stable, module_stem
from smartspider.suggest.html.slots import Slot
from smartspider.suggest.html.tree import Element, Tree

_MARK = "smartspider-suggest"
_LEAST_TRIES, _MOST_VISITS = 12, 5_000_000
"""Selectors are tried until this many elements were visited, but at least so many."""
_MOST_EXTRA = 0.06
"""The share of other elements that an otherwise unselectable list may have."""
_NAME = re.compile(r"-?[A-Za-z_][\w-]*", re.ASCII)
_TELLING_ATTRS = ("itemprop", "data-testid", "data-test", "data-qa", "data-role", "data-field", "data-name")
_SEMANTIC = frozenset(
    "h1 h2 h3 h4 h5 h6 time img address article figure figcaption main table tbody ul ol dl dt dd cite a "
    "picture blockquote section".split()
)


def quote_css(text: str) -> str:
    """Quote a text as a CSS string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def name_selectors(element: Element) -> Iterator[str]:
    """Yield compound selectors that name an element, most stable first."""
    for name in _TELLING_ATTRS:
        value = element.attrs.get(name)
        if value and len(value) < 40 and not any(character.isdigit() for character in value):
            yield (
                f"{element.tag}[{name}={quote_css(value)}]"
                if name != "itemprop"
                else f"[itemprop={quote_css(value)}]"
            )
    for name in element.classes:
        if is_stable(name) and _NAME.fullmatch(name):
            yield f"{element.tag}.{name}" if element.tag not in {"div", "span"} else f".{name}"
    for name in element.classes:
        stem = module_stem(name)
        if stem is not None:
            yield f"{element.tag}[class*={quote_css(stem)}]"


def _id_of(element: Element) -> Iterator[str]:
    name = element.attrs.get("id", "")
    if _NAME.fullmatch(name) and not re.search(r"\d{2,}", name):
        yield f"#{name}"


def generated_selectors(element: Element) -> Iterator[str]:
    """Yield compound selectors by generated class names."""
    for name in element.classes:
        if _NAME.fullmatch(name) and not is_stable(name):
            yield f"{element.tag}.{name}"


class ItemSelectors:
    """Finds a selector for a group of elements."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._found: dict[str, frozenset[int]] = {}
        whole = (one for one in tree.elements if one.end < len(tree.elements))
        self._read = frozenset(one.node.mem_id for one in whole) if tree.is_cut else None
        """Of a page that was not read to its end, only elements that were read whole are compared."""

    def best(self, items: list[Element], hooks: list[str]) -> str | None:
        """Return the best selector that matches these elements and no others, or few; None if there is none.

        `hooks` are selectors of elements inside all items, for `:has()`.
        """
        wanted = self._ids(items)
        near, extra = None, _MOST_EXTRA * len(wanted)
        tries = max(_LEAST_TRIES, _MOST_VISITS // len(self._tree.elements))
        for selector in islice(self._candidates(items, hooks), tries):
            found = self._finds(selector)
            if found == wanted:
                return selector
            if wanted <= found and len(found) - len(wanted) < extra:
                near, extra = selector, len(found) - len(wanted)
        return near

    def finds(self, selector: str, items: list[Element]) -> bool:
        """Return True if a selector matches exactly these elements."""
        return self._finds(selector) == self._ids(items)

    def container(self, element: Element) -> str | None:
        """Return the selector of the nearest ancestor that is unique in the page."""
        for above in element.ancestors():
            for name in (*_id_of(above), *name_selectors(above)):
                if len(self._finds(name)) == 1:
                    return name
        return None

    def _ids(self, items: list[Element]) -> frozenset[int]:
        ids = frozenset(item.node.mem_id for item in items)
        return ids if self._read is None else ids & self._read

    def _finds(self, selector: str) -> frozenset[int]:
        known = self._found.get(selector)
        if known is None:
            known = frozenset(node.mem_id for node in self._css(selector))
            if self._read is not None:
                known &= self._read
            self._found[selector] = known
        return known

    def _css(self, selector: str) -> list[LexborNode]:
        try:
            return self._tree.find(selector)
        except SelectolaxError:
            return []

    def _candidates(self, items: list[Element], hooks: list[str]) -> Iterator[str]:
        first = items[0]
        names = _shared(items, name_selectors)
        attrs = [f"{first.tag}[{name}]" for name in _shared_attrs(items)]
        parents = list(_parent_selectors(items))
        yield from names
        yield from attrs
        for place in parents:
            for name in [*names, *attrs]:
                yield f"{place} {name}"
        plain = first.tag
        if first.tag in {"article", "li", "tr", "figure", "table", "tbody", "dl", "section", "dt"}:
            yield plain
        for place in parents:
            yield f"{place} > {plain}"
        for place in parents:
            yield f"{place} {plain}"
        for name in [*names, *attrs, *(f"{place} > {plain}" for place in parents), plain]:
            yield from (f"{name}:has({hook})" for hook in hooks)
        for place in parents:
            yield from (f"{place} {plain}:has({hook})" for hook in hooks)
        generated = _shared(items, generated_selectors)
        yield from generated
        for place in parents:
            yield from (f"{place} > {name}" for name in generated)
        yield from _by_container(items, [*names, *generated, plain])


def _by_container(items: list[Element], names: list[str]) -> Iterator[str]:
    """Yield selectors by the position of what contains all items, and by the number of their children."""
    above = items[0].parent
    while above is not None and not above.order < items[-1].order < above.end:
        above = above.parent
    if above is None:
        return
    count = min(len(item.children) for item in items)
    shape = f":has(> :nth-child({count}))" if count > 1 else ""
    between = [one.tag for one in takewhile(lambda one: one is not above, items[0].ancestors())]
    for place in (_position_path(above), ""):
        path = " > ".join(filter(None, [place, *reversed(between)]))
        for name in names:
            yield f"{path} > {name}" if path else name
            yield f"{path} > {name}{shape}" if path else f"{name}{shape}"


def _position_path(element: Element) -> str:
    """Return the path of an element from the nearest id or the body, by positions."""
    steps: list[str] = []
    for one in (element, *element.ancestors()):
        identity = next(_id_of(one), None)
        if identity is not None or one.tag in {"body", "html"}:
            steps.append(identity or one.tag)
            break
        same = [other for other in one.parent.children if other.tag == one.tag] if one.parent else [one]
        steps.append(one.tag if len(same) == 1 else f"{one.tag}:nth-of-type({same.index(one) + 1})")
    return " > ".join(reversed(steps))


def _shared(items: list[Element], of: Callable[[Element], Iterable[str]]) -> list[str]:
    """Return the compound selectors that all elements share."""
    shared = list(of(items[0]))
    for item in items[1:]:
        have = set(of(item))
        shared = [name for name in shared if name in have]
        if not shared:
            break
    return shared


def _shared_attrs(items: list[Element]) -> list[str]:
    names = [
        name
        for name in items[0].attrs
        if name.startswith("data-") and len(name) < 30 and _NAME.fullmatch(name) and "-v-" not in name
    ]
    return [name for name in names if all(name in item.attrs for item in items)]


def _parent_selectors(items: list[Element]) -> Iterator[str]:
    """Yield selectors of the parents of the items, as child paths from a named ancestor."""
    parents = {item.parent.order: item.parent for item in items if item.parent is not None}
    above = list(parents.values())
    tail = ""
    for _ in range(6):
        if not above:
            return
        for name in [*_shared(above, _id_of), *_shared(above, name_selectors)]:
            yield f"{name}{tail}"
        tags = {element.tag for element in above}
        if len(tags) > 1:
            return
        tag = tags.pop()
        if tag in _SEMANTIC or tag == "body":
            yield f"{tag}{tail}"
        tail = f" > {tag}{tail}"
        above = list({up.parent.order: up.parent for up in above if up.parent is not None}.values())


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
    elements = list(slot.elements.values())[:12]
    steps = _steps(slot)
    labelled = _labelled(slot)
    yield from labelled
    names = _shared(elements, name_selectors)
    tag = slot.example.tag
    yield from names
    if tag in _SEMANTIC:
        yield tag
    places: list[str] = []
    for above in steps[1:]:
        places.extend(_shared(list(above.elements.values())[:12], name_selectors))
        if above.example.tag in _SEMANTIC:
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
    yield from _shared(elements, generated_selectors)


def path_hook(slot: Slot) -> str:
    """Return the child path of a slot by tags, with the name of its last element."""
    steps = _steps(slot)
    name = next(iter(_shared(list(slot.elements.values())[:12], name_selectors)), slot.example.tag)
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
