"""Build stable selectors for the items of a list, and verify them on the page.

Meaningful names come first (itemprop, data attributes, class words), then tags and structure, then generated
class names. An item is never selected by its position; what contains the items is, if nothing else does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice, takewhile

from selectolax.lexbor import LexborNode, SelectolaxError

from smartspider.suggest.html.selector_names import (
    NAME,
    SEMANTIC,
    generated_selectors,
    id_selectors,
    name_selectors,
    shared_selectors,
)
from smartspider.suggest.html.tree import Element, Tree

_LEAST_TRIES, _MOST_VISITS = 12, 5_000_000
"""Selectors are tried until this many elements were visited, but at least so many."""
_MOST_TURNS = 3
_MOST_EXTRA = 0.06
"""The share of other elements that an otherwise unselectable list may have."""


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
            for name in (*id_selectors(above), *name_selectors(above)):
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
        names = shared_selectors(items, name_selectors)
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
        yield from _in_turns(items)
        for name in [*names, *attrs, *(f"{place} > {plain}" for place in parents), plain]:
            yield from (f"{name}:has({hook})" for hook in hooks)
        for place in parents:
            yield from (f"{place} {plain}:has({hook})" for hook in hooks)
        generated = shared_selectors(items, generated_selectors)
        yield from generated
        for place in parents:
            yield from (f"{place} > {name}" for name in generated)
        yield from _by_container(items, [*names, *generated, plain])


def _in_turns(items: list[Element]) -> Iterator[str]:
    """Yield a list of class names of which each item has one: `tr.odd, tr.even`."""
    tag, left, chosen = items[0].tag, items, list[str]()
    while left and len(chosen) < _MOST_TURNS:
        counts = Counter(name for item in left for name in item.classes if NAME.fullmatch(name))
        if not counts:
            return
        chosen.append(counts.most_common(1)[0][0])
        left = [item for item in left if chosen[-1] not in item.classes]
    if not left and len(chosen) > 1:
        yield ", ".join(f"{tag}.{name}" for name in sorted(chosen))


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
        identity = next(id_selectors(one), None)
        if identity is not None or one.tag in {"body", "html"}:
            steps.append(identity or one.tag)
            break
        same = [other for other in one.parent.children if other.tag == one.tag] if one.parent else [one]
        steps.append(one.tag if len(same) == 1 else f"{one.tag}:nth-of-type({same.index(one) + 1})")
    return " > ".join(reversed(steps))


def _shared_attrs(items: list[Element]) -> list[str]:
    names = [
        name
        for name in items[0].attrs
        if name.startswith("data-") and len(name) < 30 and NAME.fullmatch(name) and "-v-" not in name
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
        for name in [*shared_selectors(above, id_selectors), *shared_selectors(above, name_selectors)]:
            yield f"{name}{tail}"
        tags = {element.tag for element in above}
        if len(tags) > 1:
            return
        tag = tags.pop()
        if tag in SEMANTIC or tag == "body":
            yield f"{tag}{tail}"
        tail = f" > {tag}{tail}"
        above = list({up.parent.order: up.parent for up in above if up.parent is not None}.values())
