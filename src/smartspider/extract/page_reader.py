"""One page type at work: items from its fields, links from its rules."""

from __future__ import annotations

from typing import Any

from smartspider.core.extraction import Extraction, Item, Rejected
from smartspider.core.page import Page
from smartspider.core.request import Request
from smartspider.extract.cards import Cards
from smartspider.extract.cleaning import clean
from smartspider.extract.columns import Column, NestedColumn
from smartspider.extract.document import Document
from smartspider.extract.links import PageLinks
from smartspider.extract.query import Query


class PageReader:
    """Reads pages of one type. Without `items` the page is one item; without fields there is none."""

    def __init__(self, items: Query | None, fields: dict[str, Column], links: PageLinks | None) -> None:
        self._items = items
        self._fields = fields
        self._links = links

    def read(self, page: Page, request: Request) -> Extraction:
        """Items and links of the page; raises `NotReadable`."""
        document = Document(page, request)
        items: list[Item] = []
        rejected: list[Rejected] = []
        if self._fields:
            items, rejected = self._read_items(document)
        if self._links is None:
            return Extraction(items, [], page.url, rejected, document.cleaned)
        links, base, dropped = self._links.find(document)
        return Extraction(items, links, base, rejected, document.cleaned, dropped)

    def _read_items(self, document: Document) -> tuple[list[Item], list[Rejected]]:
        if self._items is None:
            cards = Cards(document, [], is_page=True)
        else:
            cards = Cards(document, self._items.find_in_page(document.root))
        lacking: dict[int, str] = {}
        columns = [self._settled(name, field, cards, lacking) for name, field in self._fields.items()]
        names = tuple(self._fields)
        items: list[Item] = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        if document.is_stained:
            items = [_cleaned(item, document) for item in items]
        if not lacking:
            return items, []
        kept = [item for index, item in enumerate(items) if index not in lacking]
        return kept, [
            Rejected(f"required field {name!r} is missing", items[index])
            for index, name in sorted(lacking.items())
        ]

    def _settled(self, name: str, field: Column, cards: Cards, lacking: dict[int, str]) -> list[Any]:
        """A field's values with defaults in; notes the first required field that each item lacks."""
        values = field.column(cards)
        is_nested = isinstance(field, NestedColumn)
        if not is_nested and None not in values:
            return values
        for index, value in enumerate(values):
            if value is None or is_nested:
                lacks: list[str] = []
                values[index] = field.settle(value, name, lacks)
                if lacks:
                    lacking.setdefault(index, lacks[0])
        return values


def _cleaned(item: Item, document: Document) -> Item:
    cleaned, count = clean(item)
    document.cleaned += count
    result: Item = cleaned
    return result
