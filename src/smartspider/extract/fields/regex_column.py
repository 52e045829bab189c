"""Regular expressions, searched in the source of a page or the text of an item."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html.entities import name2codepoint
from typing import Any

from smartspider.core.pages.rules import ValueRule
from smartspider.core.patterns.pattern import user_pattern
from smartspider.extract.fields.columns import RuleColumn
from smartspider.extract.fields.scopes import PageScope, SearchScope, TextScope, ValueScope
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.text import to_text

ReadTexts = Callable[[Any], list[str]]
"""Returns the text to search, per entry of a scope."""

_REFERENCE = re.compile(r"&(?:([a-z0-9]+)|#([0-9]+)|#x([a-f0-9]+))(;?)", re.IGNORECASE)
_KEPT = frozenset({"amp", "lt"})
_FOREIGN = re.compile("[\x00\ud800-\udfff]")


def page_texts(scope: PageScope) -> list[str]:
    """Return the source of the page; raise `NotReadable`."""
    return [scope.document.text]


def value_texts(scope: ValueScope) -> list[str]:
    """Return JSON items as text."""
    return [to_text(value) for value in scope.values]


def own_texts(scope: TextScope) -> list[str]:
    """Return items that are texts."""
    return scope.texts


class RegexPattern:
    """A compiled expression. Its value is the group `value`, else the first group, else the whole match."""

    def __init__(self, expr: str) -> None:
        self._pattern = user_pattern(expr)
        named = "value" in self._pattern.groupindex
        self._group: str | int = "value" if named else min(self._pattern.groups, 1)

    def values(self, text: str, *, is_markup: bool) -> Iterator[str | None]:
        """Yield the values in a text; None for a match without the group."""
        for found in self._pattern.finditer(text):
            value = found[self._group]
            yield unescape_references(value) if is_markup and value else value


class RegexColumn(RuleColumn):
    """Values found by a regular expression."""

    def __init__(
        self, rule: ValueRule, pattern: RegexPattern, texts_of: ReadTexts, *, is_markup: bool
    ) -> None:
        super().__init__(rule)
        self._pattern = pattern
        self._texts_of = texts_of
        self._is_markup = is_markup
        self._is_raw = rule.is_raw
        self._join = rule.join
        self._is_many = rule.many or rule.join is not None

    def values(self, scope: SearchScope) -> list[Any]:
        """Return the values; in markup, character references are resolved, except `&amp;` and `&lt;`."""
        is_markup = self._is_markup and not (scope.is_page and scope.document.is_json)
        return [self._value(text, scope.document, is_markup) for text in self._texts_of(scope)]

    def _value(self, text: str, document: Document, is_markup: bool) -> Any:
        found = self._pattern.values(text, is_markup=is_markup)
        if self._is_raw:
            values = (value or "" for value in found)
        else:
            values = (value.strip() for value in found if value is not None)
        if not self._is_many:
            first = next(values, None)
            self._note(first, document)
            return first
        kept = [value for value in values if value or self._is_raw]
        joined = (self._join or "").join(kept)
        self._note(joined, document)
        if not kept:
            return None
        return kept if self._join is None else joined

    def _note(self, value: str | None, document: Document) -> None:
        if value and not document.has_invalid and _FOREIGN.search(value):
            document.has_invalid = True


class RegexFinder:
    """Finds texts to search in."""

    def __init__(self, pattern: RegexPattern, texts_of: ReadTexts) -> None:
        self._pattern = pattern
        self._texts_of = texts_of

    def find(self, scope: SearchScope) -> list[list[str]]:
        """Return the values per entry, as in the source."""
        return [
            [value for value in self._pattern.values(text, is_markup=False) if value]
            for text in self._texts_of(scope)
        ]

    def scope(self, document: Document, found: list[str], numbers: Sequence[int]) -> TextScope:
        """Return the texts as a scope."""
        return TextScope(document, found, numbers)


def unescape_references(text: str) -> str:
    """Resolve character references, except `&amp;` and `&lt;`, which delimit HTML."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(found: re.Match[str]) -> str:
    name, decimal, hexadecimal, semicolon = found.groups()
    code: int | None
    if name is not None:
        if name.lower() in _KEPT:
            return found[0]
        code = name2codepoint.get(name) or name2codepoint.get(name.lower())
    else:
        digits = (decimal or hexadecimal).lstrip("0")[:12]  # longer ones exceed all characters
        code = int(digits or "0", 10 if decimal else 16)
    if code is None or code > 0x10FFFF:
        return "" if semicolon else found[0]
    if code == 0 or 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if 0x80 <= code <= 0x9F:
        try:
            return bytes((code,)).decode("cp1252")
        except UnicodeDecodeError:
            return "" if semicolon else found[0]
    return chr(code)
