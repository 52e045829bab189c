"""Queries for Lexbor: over a page, in one item, or over all items of a page at once.

Lexbor does not support `:scope`, and a relative `.wrap h2` also matches a `.wrap` outside the item. So
items are marked while they are searched, and every relative selector starts at the mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from selectolax.lexbor import LexborNode

from smartspider.extract.css import SCOPE, ComplexSelector, Take

MARK = "smartspider-item"
"""The attribute of marked items."""

_AT_MARK = f"[{MARK}]"
_BARE_FUNCTION = re.compile(r"""("[^"]*"|'[^']*')|(^|[\s(,>+~]):(?=(?:is|not|has|where)\()""", re.IGNORECASE)
"""Lexbor tests only the nearest ancestor against a compound that starts with such a function; with `*` before
it, it tests all. Strings are matched to leave them unchanged.
"""
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


class Query(msgspec.Struct, frozen=True):
    """Selectors of one expression that take the same part of their matches, for each way to search."""

    take: Take
    attr: str
    in_page: str
    in_item: str
    in_items: str
    """`in_item` for all items at once; the matches of an item follow the item itself."""
    is_page_marked: bool
    repeats: bool
    """The same element may match more than once in an item."""
    repeats_in_page: bool

    def find_in_page(self, root: LexborNode) -> list[LexborNode]:
        """Return all matches in the document, in order."""
        if self.is_page_marked:
            mark(root)
        nodes = root.css(self.in_page)
        if self.is_page_marked:
            unmark(root)
        return distinct(nodes) if self.repeats_in_page else nodes

    def first_in_page(self, root: LexborNode) -> LexborNode | None:
        """Return the first match in the document."""
        if self.is_page_marked:
            mark(root)
        node = root.css_first(self.in_page)
        if self.is_page_marked:
            unmark(root)
        return node

    def find_in_item(self, item: LexborNode) -> list[LexborNode]:
        """Return all matches in a marked item, in document order."""
        nodes = item.css(self.in_item)
        return distinct(nodes) if self.repeats else nodes


def distinct(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    """Return the nodes without repetitions, in order."""
    return list({node.mem_id: node for node in nodes}.values())


def mark(item: LexborNode) -> None:
    """Mark an element as the start of relative selectors."""
    item.attrs[MARK] = ""


def unmark(item: LexborNode) -> None:
    """Undo `mark`."""
    del item.attrs[MARK]


def make_queries(selectors: tuple[ComplexSelector, ...], *, is_raw: bool) -> tuple[Query, ...]:
    """Compile an expression to queries, one per part that its selectors take."""
    kinds: dict[tuple[Take, str], list[ComplexSelector]] = {}
    for selector in selectors:
        group = kinds.setdefault((selector.take, selector.attr or ""), [])
        group.append(selector)
        last = selector.compounds[-1]
        if selector.take == "attr" and last.css == "*" and last.combinator == " ":
            # As in parsel, `div ::attr(x)` includes the attribute of the div.
            group.append(selector._replace(compounds=selector.compounds[:-1]))
    return tuple(_make_query(take, attr, group, is_raw) for (take, attr), group in kinds.items())


def _make_query(take: Take, attr: str, selectors: list[ComplexSelector], is_raw: bool) -> Query:
    in_page = [_at_mark(selector) if selector.is_scoped else _plain(selector) for selector in selectors]
    in_item: list[str] = []
    for selector in selectors:
        in_item.extend(_relative(selector, includes_self=is_raw or take != "element"))
    return Query(
        take=take,
        attr=attr,
        in_page=", ".join(in_page),
        in_item=", ".join(in_item),
        in_items=", ".join([_AT_MARK, *in_item]),
        is_page_marked=any(selector.is_scoped for selector in selectors),
        repeats=len(in_item) > 1,
        repeats_in_page=len(in_page) > 1,
    )


def _relative(selector: ComplexSelector, *, includes_self: bool) -> list[str]:
    """Return the selector below the mark, and with its first compound on the mark where that is possible."""
    if selector.is_scoped:
        return [_at_mark(selector)]
    forms = [f"{_AT_MARK} {_plain(selector)}"]
    is_single = len(selector.compounds) == 1
    # `h2 + p` with the item as the h2 would leave the item.
    if includes_self if is_single else selector.compounds[1].combinator in {" ", ">"}:
        forms.append(_join([selector.compounds[0].css + _AT_MARK], selector))
    return forms


def _at_mark(selector: ComplexSelector) -> str:
    first = selector.compounds[0]
    if first.combinator == ">":
        return _join([_AT_MARK, ">", first.css], selector)
    return _join([_AT_MARK + first.css[len(SCOPE) :]], selector)


def _plain(selector: ComplexSelector) -> str:
    return _join([selector.compounds[0].css], selector)


def _join(head: list[str], selector: ComplexSelector) -> str:
    words = head
    for compound in selector.compounds[1:]:
        words += [compound.combinator.strip(), compound.css]
    css = " ".join(filter(None, words))
    # Elements without the attribute have no value. Exclude them here if every element matches; otherwise keep
    # the selector, so that `a::text` and `a::attr(href)` share one search.
    if (
        selector.take == "attr"
        and selector.compounds[-1].css == "*"
        and _PLAIN_NAME.fullmatch(selector.attr or "")
    ):
        css += f"[{selector.attr}]"
    return _BARE_FUNCTION.sub(lambda found: found[1] or f"{found[2]}*:", css)
