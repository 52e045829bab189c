"""Links found by JMESPath in JSON, or by a regular expression in text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any

from smartspider.extract.fields.json_column import JsonReader
from smartspider.extract.fields.regex_column import ReadTexts, RegexPattern
from smartspider.extract.fields.scopes import PageScope, SearchScope
from smartspider.extract.jmes import JmesExpression
from smartspider.extract.parsing.link_markup import normalize_href
from smartspider.extract.parsing.text import to_text


class JsonLinks:
    """Texts and numbers in JSON. Numbers stay numbers for templates."""

    def __init__(self, reader: JsonReader, expression: JmesExpression, *, is_href: bool) -> None:
        self._reader = reader
        self._search = expression.search
        self._is_href = is_href

    def find(self, scope: SearchScope) -> Sequence[Iterator[Any]]:
        """Return the matches per entry."""
        return [self._values(documents) for documents in self._reader(scope)]

    def first(self, page: PageScope) -> str | None:
        """Return the first match."""
        return next(self.find(page)[0], None)

    def _values(self, documents: list[Any]) -> Iterator[Any]:
        for data in documents:
            found = self._search(data)
            for each in found if isinstance(found, list) else [found]:
                if isinstance(each, bool) or not isinstance(each, str | int | float) or each == "":
                    continue
                value = normalize_href(to_text(each)) if self._is_href else each
                if value is not None:
                    yield value


class RegexLinks:
    """Matches of a regular expression."""

    def __init__(self, pattern: RegexPattern, texts_of: ReadTexts, *, is_href: bool, is_markup: bool) -> None:
        self._pattern = pattern
        self._texts_of = texts_of
        self._is_href = is_href
        self._is_markup = is_markup

    def find(self, scope: SearchScope) -> Sequence[Iterator[str]]:
        """Return the matches per entry; in markup, character references are resolved."""
        is_markup = self._is_markup and not (scope.is_page and scope.document.is_json)
        return [self._values(text, is_markup) for text in self._texts_of(scope)]

    def first(self, page: PageScope) -> str | None:
        """Return the first match."""
        return next(self.find(page)[0], None)

    def _values(self, text: str, is_markup: bool) -> Iterator[str]:
        for found in self._pattern.values(text, is_markup=False):
            if not found:
                continue
            value = unescape(found) if is_markup else found
            href = normalize_href(value) if self._is_href else value.strip()
            if href:
                yield href
