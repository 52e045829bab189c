"""JMESPath rules and sources, on JSON values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from smartspider.core.errors import NotReadable
from smartspider.core.pages.rules import ValueRule
from smartspider.extract.fields.columns import RuleColumn
from smartspider.extract.fields.scopes import PageScope, SearchScope, TextScope, ValueScope
from smartspider.extract.jmes import JmesExpression
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.json_parser import InvalidJson, find_json, has_invalid_escape
from smartspider.extract.parsing.text import to_text
from smartspider.interfaces.step import ValueRejected

JsonReader = Callable[[Any], list[list[Any]]]
"""Returns the JSON values to search, per entry of a scope."""


class TextReader(Protocol):
    """Reads texts of elements or attributes."""

    def read(self, scope: Any) -> list[list[str]]:
        """Return all texts per entry."""


def read_page(scope: PageScope) -> list[list[Any]]:
    """Return the page as JSON; raise `NotReadable`."""
    return [[scope.document.json]]


def read_values(scope: ValueScope) -> list[list[Any]]:
    """Return items that are JSON values."""
    return [[value] for value in scope.values]


def read_texts(scope: TextScope) -> list[list[Any]]:
    """Return the JSON in items that are texts."""
    return [_found_json([text], scope.document) for text in scope.texts]


class EmbeddedJsonReader:
    """Reads JSON inside HTML elements or attributes; rules with the same selector share the result."""

    def __init__(self, css: str, texts: TextReader) -> None:
        self._css = css
        self._texts = texts

    def __call__(self, scope: SearchScope) -> list[list[Any]]:
        """Return the JSON values per entry; texts without JSON are skipped."""
        found: list[list[Any]] | None = scope.cache.get(self._css)
        if found is None:
            found = [_found_json(texts, scope.document) for texts in self._texts.read(scope)]
            scope.cache[self._css] = found
        return found


class SourceReader:
    """Reads data that a page or an item carries, such as JSON-LD.

    What cannot be stored rejects the item if it is for a field, whose name is given; else it breaks the page.
    """

    def __init__(self, kind: str, html_of: Callable[[Any], list[str]], field: str | None = None) -> None:
        self._kind = kind
        self._html_of = html_of
        self._field = field

    def __call__(self, scope: SearchScope) -> list[list[Any]]:
        """Return the data per entry; none if it is empty."""
        from smartspider.extract.sources import read_source, read_source_in

        document = scope.document
        reads: list[Callable[[], Any]] = [partial(read_source, self._kind, document)]
        if not scope.is_page:
            htmls = self._html_of(scope)
            reads = [partial(read_source_in, self._kind, html, document) for html in htmls]
        found = [self._read(read, scope, index) for index, read in enumerate(reads)]
        return [[] if each in (None, "", [], {}) else [each] for each in found]

    def _read(self, read: Callable[[], Any], scope: SearchScope, index: int) -> Any:
        try:
            return read()
        except ValueRejected as refused:
            if self._field is None:
                raise NotReadable(f"{refused.step} {refused.reason}") from refused
            scope.document.rejected.setdefault(scope.numbers[index], (self._field, refused))
            return None


def _found_json(texts: list[str], document: Document) -> list[Any]:
    values = []
    for text in texts:
        try:
            values.append(find_json(text))
        except InvalidJson:
            continue
        document.has_invalid = document.has_invalid or has_invalid_escape(text)
    return values


class JsonColumn(RuleColumn):
    """Values found in JSON."""

    def __init__(self, rule: ValueRule, reader: JsonReader, expression: JmesExpression | None) -> None:
        super().__init__(rule)
        self._reader = reader
        self._search = None if expression is None else expression.search
        self._is_raw = rule.is_raw
        self._join = rule.join
        self._is_many = rule.many or rule.join is not None

    def values(self, scope: SearchScope) -> list[Any]:
        """Return JSON values; texts are trimmed unless raw."""
        return [self._value(documents) for documents in self._reader(scope)]

    def _value(self, documents: list[Any]) -> Any:
        search = self._search
        found = documents if search is None else [search(data) for data in documents]
        if not self._is_many:
            value = next((each for each in found if each is not None), None)
            return value.strip() if isinstance(value, str) and not self._is_raw else value
        values = []
        for each in found:
            values += each if isinstance(each, list) else [each]
        if not self._is_raw:
            values = [each.strip() if isinstance(each, str) else each for each in values]
        values = [each for each in values if each is not None and (self._is_raw or each != "")]
        if not values:
            return None
        return values if self._join is None else self._join.join(map(to_text, values))


class JsonFinder:
    """Finds JSON values to search in."""

    def __init__(self, reader: JsonReader, expression: JmesExpression | None) -> None:
        self._reader = reader
        self._search = None if expression is None else expression.search

    def find(self, scope: SearchScope) -> list[list[Any]]:
        """Return the values per entry, lists flattened, without nulls."""
        return [self._values(documents) for documents in self._reader(scope)]

    def scope(self, document: Document, found: list[Any], numbers: Sequence[int]) -> ValueScope:
        """Return the values as a scope."""
        return ValueScope(document, found, numbers)

    def _values(self, documents: list[Any]) -> list[Any]:
        values: list[Any] = []
        for data in documents:
            each = data if self._search is None else self._search(data)
            values += each if isinstance(each, list) else [each]
        return [value for value in values if value is not None]
