"""Where fields are looked up: the whole page, or its items as elements, JSON values or texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from smartspider.extract.parsing.document import Document

ScopeKind = Literal["page", "elements", "values", "texts"]
PAGE: ScopeKind = "page"


class SearchScope:
    """Places that fields are looked up in side by side. A column has a value for each of them."""

    __slots__ = ("cache", "document", "numbers")

    is_page = False

    def __init__(self, document: Document, numbers: Sequence[int]) -> None:
        self.document = document
        self.numbers = numbers
        """The number of the page's item that each place belongs to."""
        self.cache: dict[str, Any] = {}
        """What several columns look for."""

    def __len__(self) -> int:
        return len(self.numbers)

    def pause(self) -> None:
        """Leave the document as it was; another scope is searched."""

    def resume(self) -> None:
        """Undo `pause`."""


class PageScope(SearchScope):
    """The page as the only place."""

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
    """Texts that a regular expression found."""

    __slots__ = ("texts",)

    def __init__(self, document: Document, texts: list[str], numbers: Sequence[int]) -> None:
        super().__init__(document, numbers)
        self.texts = texts
