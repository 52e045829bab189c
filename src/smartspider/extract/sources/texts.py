"""Texts of elements, with an end to what one page may make of nested ones."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from smartspider.extract.document import Document
from smartspider.extract.texts import text_of

_LEAST = 1_000_000


class Texts:
    """Reads texts of elements until they add up to a few times the page.

    Elements that lie in one another share their text; a page that nests them without end gets no more of it
    than this.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = max(4 * len(document.page.body), _LEAST)

    @property
    def is_spent(self) -> bool:
        """No further text is read."""
        return self._left <= 0

    def of(self, node: LexborNode) -> str:
        """The collapsed text of an element; empty when the page has had its share."""
        if self._left <= 0:
            return ""
        text = text_of(node, self._document)
        self._left -= len(text) + 1
        return text
