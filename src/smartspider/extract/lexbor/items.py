"""The items of a page as elements, searched all at once.

A query over the whole page costs about as much as five queries in single items, so a field is searched
once and its matches are assigned to items. That is exact as long as no item contains another: every match
then belongs to the item before it in document order.
"""

from __future__ import annotations

from collections.abc import Sequence

from selectolax.lexbor import LexborNode

from smartspider.extract.fields.scopes import SearchScope
from smartspider.extract.lexbor.query import Query, distinct, mark, unmark
from smartspider.extract.parsing.document import Document


class LexborItems(SearchScope):
    """The elements of Lexbor's tree that are the items of a page."""

    __slots__ = ("_firsts", "_ids", "_top", "is_flat", "nodes")

    def __init__(
        self, document: Document, nodes: list[LexborNode], numbers: Sequence[int] | None = None
    ) -> None:
        super().__init__(document, range(len(nodes)) if numbers is None else numbers)
        self.nodes = nodes
        self._ids = {node.mem_id: index for index, node in enumerate(nodes)}
        self._top = _shared_parent(nodes)
        self._firsts: dict[str, list[LexborNode | None]] = {}
        self.is_flat = len(self._ids) == len(nodes) and (self._top is not None or not self._is_nested())
        self.resume()

    def pause(self) -> None:
        """Remove the marks, so that another scope can be searched."""
        if self.is_flat:
            for node in self.nodes:
                unmark(node)

    def resume(self) -> None:
        """Mark the items."""
        if self.is_flat:
            for node in self.nodes:
                mark(node)

    def _is_nested(self) -> bool:
        ids = self._ids
        outside: set[int] = set()
        for node in self.nodes:
            parent = node.parent
            while parent is not None and parent.mem_id not in outside:
                if parent.mem_id in ids:
                    return True
                outside.add(parent.mem_id)
                parent = parent.parent
        return False

    def firsts(self, query: Query) -> list[LexborNode | None]:
        """Return the first match in each item, for flat items only. Fields with the same
        selector share it.
        """
        known = self._firsts.get(query.in_items)
        if known is not None:
            return known
        ids = self._ids
        found: list[LexborNode | None] = [None] * len(self.nodes)
        current = -1
        for node in (self._top or self.document.root).css(query.in_items):
            index = ids.get(node.mem_id)
            if index is not None and index != current:
                current = index
            elif found[current] is None:
                # The second time, the item itself is a match.
                found[current] = node
        self._firsts[query.in_items] = found
        return found

    def lists(self, query: Query) -> list[list[LexborNode]]:
        """Return the matches in each item, in document order, for flat items only."""
        ids = self._ids
        found: list[list[LexborNode]] = [[] for _ in self.nodes]
        current = -1
        for node in (self._top or self.document.root).css(query.in_items):
            index = ids.get(node.mem_id)
            if index is not None and index != current:
                current = index
            else:
                found[current].append(node)
        return [distinct(nodes) if len(nodes) > 1 else nodes for nodes in found] if query.repeats else found

    def find(self, query: Query, item: LexborNode) -> list[LexborNode]:
        """Return all matches in one item, in document order."""
        if self.is_flat:
            return query.find_in_item(item)
        mark(item)
        nodes = query.find_in_item(item)
        unmark(item)
        return nodes


def _shared_parent(nodes: list[LexborNode]) -> LexborNode | None:
    """Return the common parent of all nodes, in which case none contains another."""
    if not nodes:
        return None
    first = nodes[0].parent
    if first is None:
        return None
    its_id = first.mem_id
    for node in nodes:
        parent = node.parent
        if parent is None or parent.mem_id != its_id:
            return None
    return first
