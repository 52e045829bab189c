"""CSS rules on Lexbor's tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from selectolax.lexbor import LexborNode

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.fields.columns import RuleColumn
from smartspider.extract.fields.scopes import PageScope
from smartspider.extract.lexbor.items import LexborItems
from smartspider.extract.lexbor.query import Query
from smartspider.extract.lexbor.values import list_values, serialize_html
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.text import text_of


class CssColumn(RuleColumn):
    """Values found by a CSS expression."""

    def __init__(self, rule: ValueRule, queries: tuple[Query, ...]) -> None:
        super().__init__(rule)
        self._queries = queries
        self._is_raw = rule.is_raw
        self._join = rule.join
        self._is_many = rule.many or rule.join is not None
        self._attr = queries[0].attr if queries else ""
        take = queries[0].take if queries else "element"
        self._first_of: Callable[[LexborNode, Document], str | None] = self._first_text
        """Returns the first value of a first match, or None if the match alone does not determine it."""
        if take == "attr":
            self._first_of = self._first_attribute
        elif take == "element":
            self._first_of = self._first_element

    def values(self, scope: LexborItems | PageScope) -> list[Any]:
        """Return the values; all items are searched at once where that is exact."""
        if isinstance(scope, PageScope):
            return [self._in_page(scope.document)]
        if len(self._queries) > 1 or not scope.is_flat:
            return [self.value_in(item, scope) for item in scope.nodes]
        query = self._queries[0]
        if self._is_many:
            document, is_raw = scope.document, self._is_raw
            return [
                self._shape(list_values([(query, nodes)], item, document, is_raw=is_raw)) if nodes else None
                for item, nodes in zip(scope.nodes, scope.lists(query), strict=True)
            ]
        first_of, document = self._first_of, scope.document
        values: list[Any] = [node and first_of(node, document) for node in scope.firsts(query)]
        if None in values:
            for index, node in enumerate(scope.firsts(query)):
                if node is not None and values[index] is None:
                    values[index] = self.value_in(scope.nodes[index], scope)
        return values

    def value_in(self, item: LexborNode, scope: LexborItems) -> Any:
        """Return the value in one item, searched separately, which is always exact."""
        found = [(query, scope.find(query, item)) for query in self._queries]
        return self._shape(list_values(found, item, scope.document, is_raw=self._is_raw))

    def _in_page(self, document: Document) -> Any:
        root = document.root
        if len(self._queries) == 1 and not self._is_many:
            node = self._queries[0].first_in_page(root)
            if node is None:
                return None
            value = self._first_of(node, document)
            if value is not None:
                return value
        found = [(query, query.find_in_page(root)) for query in self._queries]
        return self._shape(list_values(found, root, document, is_raw=self._is_raw))

    def _first_attribute(self, node: LexborNode, _: Document) -> str | None:
        return node.attrs.sget(self._attr, None)

    def _first_text(self, node: LexborNode, _: Document) -> str | None:
        # A text node that comes first in the first match is the first of all.
        child = node.first_child
        text = None if child is None else child.text_content
        return text if text is None or self._is_raw else text.strip()

    def _first_element(self, node: LexborNode, document: Document) -> str:
        return serialize_html(node) if self._is_raw else text_of(node, document)

    def _shape(self, values: list[str]) -> Any:
        if not self._is_many:
            return values[0] if values else None
        if not self._is_raw:
            values = [value for value in values if value]
        if not values:
            return None
        return values if self._join is None else self._join.join(values)


class CssFinder:
    """Finds elements to search in."""

    def __init__(self, query: Query) -> None:
        self._query = query

    def find(self, scope: LexborItems | PageScope) -> list[list[LexborNode]]:
        """Return the elements per entry; an item does not match itself."""
        if isinstance(scope, PageScope):
            return [self._query.find_in_page(scope.document.root)]
        if scope.is_flat:
            return scope.lists(self._query)
        return [scope.find(self._query, item) for item in scope.nodes]

    def scope(self, document: Document, found: list[LexborNode], numbers: Sequence[int]) -> LexborItems:
        """Return the elements as a scope."""
        return LexborItems(document, found, numbers)


class CssTexts:
    """Reads texts of elements or attributes that contain data rather than HTML."""

    def __init__(self, queries: tuple[Query, ...]) -> None:
        self._queries = queries

    def read(self, scope: LexborItems | PageScope) -> list[list[str]]:
        """Return all texts per entry, unchanged."""
        document = scope.document
        if isinstance(scope, PageScope):
            root = document.root
            return [self._texts(root, [query.find_in_page(root) for query in self._queries], document)]
        return [
            self._texts(item, [scope.find(query, item) for query in self._queries], document)
            for item in scope.nodes
        ]

    def _texts(self, top: LexborNode, found: list[list[LexborNode]], document: Document) -> list[str]:
        texts: list[str] = []
        for query, nodes in zip(self._queries, found, strict=True):
            if query.take == "element":
                texts += [node.text() for node in nodes]
            else:
                texts += list_values([(query, nodes)], top, document, is_raw=True)
        return texts
