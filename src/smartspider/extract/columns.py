"""Fields as columns: a rule gives its values for all items of a page at once, None where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from selectolax.lexbor import LexborNode

from smartspider.core.rules import Rule
from smartspider.extract.cards import Cards
from smartspider.extract.cleaning import clean
from smartspider.extract.document import Document
from smartspider.extract.query import Query
from smartspider.extract.values import html_of, list_values, text_of


class Column(Protocol):
    """A field. `column` finds; `settle` makes the final value of what was found."""

    def column(self, cards: Cards) -> list[Any]:
        """A value for each item; None where there is none."""

    def settle(self, value: Any, path: str, lacks: list[str]) -> Any:
        """The value, or what stands for a missing one; names required fields that are missing."""


class Leaf:
    """What all single rules do with a missing value. `required` is met by a default."""

    def __init__(self, rule: Rule) -> None:
        self._default = clean(rule.default)[0]
        if self._default is None and rule.many and rule.join is None:
            self._default = []
        self._is_lacking = rule.required and rule.default is None

    def settle(self, value: Any, path: str, lacks: list[str]) -> Any:
        """The value, or the default."""
        if value is not None:
            return value
        if self._is_lacking:
            lacks.append(path)
        return self._default


class ConstColumn(Leaf):
    """The same value everywhere."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self._value = clean(rule.expr)[0]

    def column(self, cards: Cards) -> list[Any]:
        """The value, once for each item."""
        return [self._value] * len(cards)


_META: dict[str, Callable[[Document], Any]] = {
    "url": lambda document: document.request.url,
    "final_url": lambda document: document.page.url,
    "status": lambda document: document.page.status,
    "fetched_at": lambda document: datetime.fromtimestamp(document.page.fetched_at, UTC).isoformat(),
    "depth": lambda document: document.request.depth,
    "page": lambda document: document.request.page,
    "parent": lambda document: document.request.parent,
}


class MetaColumn(Leaf):
    """Something known about the page or its request."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self._key = str(rule.expr)
        self._read = _META.get(self._key, self._from_request)

    def column(self, cards: Cards) -> list[Any]:
        """The value, once for each item."""
        value, count = clean(self._read(cards.document))
        cards.document.cleaned += count
        return [value] * len(cards)

    def _from_request(self, document: Document) -> Any:
        return document.request.extras.meta.get(self._key)


class CssColumn(Leaf):
    """Values found by a CSS expression."""

    def __init__(self, rule: Rule, queries: tuple[Query, ...]) -> None:
        super().__init__(rule)
        self._queries = queries
        self._is_raw = rule.is_raw
        self._join = rule.join
        self._is_many = rule.many or rule.join is not None
        self._attr = queries[0].attr if queries else ""
        take = queries[0].take if queries else "element"
        self._first_of: Callable[[LexborNode, Document], str | None] = self._first_text
        """The first value of a first match, or None if the match alone does not tell it."""
        if take == "attr":
            self._first_of = self._first_attribute
        elif take == "element":
            self._first_of = self._first_element

    def column(self, cards: Cards) -> list[Any]:
        """The values; all items are searched at once where that is exact."""
        if cards.is_page:
            return [self._in_page(cards.document)]
        if len(self._queries) > 1 or not cards.is_flat:
            return [self.value_in(item, cards) for item in cards.nodes]
        query = self._queries[0]
        if self._is_many:
            document, is_raw = cards.document, self._is_raw
            return [
                self._shape(list_values([(query, nodes)], item, document, is_raw=is_raw)) if nodes else None
                for item, nodes in zip(cards.nodes, cards.lists(query), strict=True)
            ]
        first_of, document = self._first_of, cards.document
        values: list[Any] = [node and first_of(node, document) for node in cards.firsts(query)]
        if None in values:
            for index, node in enumerate(cards.firsts(query)):
                if node is not None and values[index] is None:
                    values[index] = self.value_in(cards.nodes[index], cards)
        return values

    def value_in(self, item: LexborNode, cards: Cards) -> Any:
        """The value in one item, searched by itself: the way that is always exact."""
        found = [(query, cards.find(query, item)) for query in self._queries]
        return self._shape(list_values(found, item, cards.document, is_raw=self._is_raw))

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
        # A text node that comes first in the first match comes first of all.
        child = node.first_child
        text = None if child is None else child.text_content
        return text if text is None or self._is_raw else text.strip()

    def _first_element(self, node: LexborNode, document: Document) -> str:
        return html_of(node) if self._is_raw else text_of(node, document)

    def _shape(self, values: list[str]) -> Any:
        if not self._is_many:
            return values[0] if values else None
        if not self._is_raw:
            values = [value for value in values if value]
        if not values:
            return None
        return values if self._join is None else self._join.join(values)


class FirstOfColumn:
    """Alternatives: the first that has a value."""

    def __init__(self, alternatives: tuple[Column, ...]) -> None:
        self._alternatives = alternatives

    def column(self, cards: Cards) -> list[Any]:
        """The values; a later alternative is only looked up while some are missing."""
        values: list[Any] = [None] * len(cards)
        for alternative in self._alternatives:
            for index, value in enumerate(alternative.column(cards)):
                if values[index] is None and value is not None:
                    lacks: list[str] = []
                    settled = alternative.settle(value, "", lacks)
                    values[index] = None if lacks else settled
            if None not in values:
                break
        return values

    def settle(self, value: Any, path: str, lacks: list[str]) -> Any:
        """The value, or the first default; one required alternative makes the field required."""
        if value is not None:
            return value
        missing: list[str] = []
        settled: Any = None
        for alternative in self._alternatives:
            before = len(missing)
            settled = alternative.settle(None, path, missing)
            if len(missing) == before and settled is not None and settled != []:
                return settled
        if missing:
            lacks.append(path)
        return settled


class NestedColumn:
    """An object of fields; missing where all of them are."""

    def __init__(self, fields: dict[str, Column]) -> None:
        self._fields = fields

    def column(self, cards: Cards) -> list[Any]:
        """Objects of found values."""
        if not self._fields:
            return [None] * len(cards)
        columns = [field.column(cards) for field in self._fields.values()]
        return [
            dict(zip(self._fields, row, strict=True)) if any(value is not None for value in row) else None
            for row in zip(*columns, strict=True)
        ]

    def settle(self, value: Any, path: str, lacks: list[str]) -> Any:
        """The object with all its keys."""
        found = value or {}
        return {
            name: field.settle(found.get(name), f"{path}.{name}" if path else name, lacks)
            for name, field in self._fields.items()
        }
