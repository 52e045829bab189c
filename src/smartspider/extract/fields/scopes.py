"""Scopes: the page, or its items as elements, JSON values or texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from smartspider.extract.parsing.document import Document

ScopeKind = Literal["page", "elements", "values", "texts"]
PAGE: ScopeKind = "page"


class SearchScope:
    """The entries in which fields are searched. A column has one value per entry."""

    __slots__ = ("cache", "document", "numbers")

    is_page = False

    def __init__(self, document: Document, numbers: Sequence[int]) -> None:
        self.document = document
        self.numbers = numbers
        """The number of the page's item to which each entry belongs."""
        self.cache: dict[str, Any] = {}
        """Results that several columns share."""

    def __len__(self) -> int:
        return len(self.numbers)

    def pause(self) -> None:
        """Restore the document, so that another scope can be searched."""

    def resume(self) -> None:
        """Undo `pause`."""


class PageScope(SearchScope):
    """The page as the only entry."""

    __slots__ = ()

    is_page = True

    def __init__(self, document: Document) -> None:
        super().__init__(document, (0,))


class ValueScope(SearchScope):
    """JSON values."""

    __slots__ = ("values",)

    def __init__(self, document: Document, values: list[Any], numbers: Sequence[int]) -> None:
        super().__init__(document, numbers)
        self.values = values


class TextScope(SearchScope):
    """Texts found by a regular expression."""

    __slots__ = ("texts",)

    def __init__(self, document: Document, texts: list[str], numbers: Sequence[int]) -> None:
        super().__init__(document, numbers)
        self.texts = texts
