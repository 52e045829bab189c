"""The coverage of a run: which fields have a value in any stored row, and how many pages of each type have
items, and values in their fields.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.pages.extraction import EMPTY, Item

_encode = msgspec.json.Encoder().encode


class ValuedPages(msgspec.Struct, array_like=True):
    """Pages that have a value in a field, and the first one with items that has none (0: there is none)."""

    pages: int = 0
    example: int = 0


class TypeCoverage(msgspec.Struct, array_like=True):
    """Pages of a type that has rules for items, those of them that brought a value, and the first one that
    did not (0: there is none).
    """

    pages: int = 0
    bringing: int = 0
    example: int = 0
    fields: dict[str, ValuedPages] = {}


class MarkedPages(msgspec.Struct, array_like=True):
    """A number of pages, and the first of them (0: there is none)."""

    pages: int = 0
    example: int = 0


class RunFields(msgspec.Struct):
    """The column `fields` of a run."""

    filled: dict[str, bool] = {}
    """Fields of its items, and whether any stored row has a value."""
    coverage: dict[str, TypeCoverage] = {}
    """Coverage by page type."""
    undecodable: MarkedPages = msgspec.field(default_factory=MarkedPages)
    """Pages with bytes that are no characters of their charset."""


_decode = msgspec.json.Decoder(RunFields).decode


def decode_fields(stored: bytes | None) -> RunFields:
    """Return what the pages of a run brought."""
    return RunFields() if stored is None else _decode(stored)


class FilledFields:
    """Follows which fields have a value, and counts the pages that do."""

    def __init__(self, stored: bytes | None) -> None:
        self._stored = stored
        self._run = decode_fields(stored)
        self._empty = {name for name, is_filled in self._run.filled.items() if not is_filled}
        self._is_changed = False

    @property
    def stored(self) -> bytes | None:
        """The column as it is now."""
        return _encode(self._run) if self._is_changed else self._stored

    def record(self, items: Sequence[Item]) -> None:
        """Record the fields of stored items. Items of a page have the same fields."""
        if not items:
            return
        fields, filled = items[0].keys(), self._run.filled
        new = fields - filled.keys()
        if not new and not self._empty:
            return
        for name in (name for name in fields if name in new):
            filled[name] = False
            self._empty.add(name)
        found = {name for name in self._empty if _has_value(items, name)}
        self._empty -= found
        filled.update(dict.fromkeys(found, True))
        self._is_changed = self._is_changed or bool(new or found)

    def record_page(self, page: str, url_id: int, items: Sequence[Item], *, brought: bool) -> None:
        """Count a page of a type that has rules for items, and the values in its fields."""
        self._is_changed = True
        coverage = self._run.coverage.get(page)
        if coverage is None:
            coverage = self._run.coverage[page] = TypeCoverage(fields={})
        coverage.pages += 1
        if not brought:
            coverage.example = coverage.example or url_id
            return
        coverage.bringing += 1
        for name in items[0] if items else ():
            field = coverage.fields.get(name)
            if field is None:
                field = coverage.fields[name] = ValuedPages()
            if items[0][name] or _has_value(items, name):
                field.pages += 1
            else:
                field.example = field.example or url_id

    def record_undecodable(self, url_id: int) -> None:
        """Count a page with bytes that are no characters of its charset."""
        self._is_changed = True
        found = self._run.undecodable
        found.pages += 1
        found.example = found.example or url_id


def _has_value(items: Sequence[Item], name: str) -> bool:
    return any(item.get(name) not in EMPTY for item in items)
