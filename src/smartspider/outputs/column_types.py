"""Typed columns of Parquet and SQLite files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.outputs.cells import parse_time, to_text

_NOTHING = type(None)
_TYPES: dict[ColumnKind, frozenset[type]] = {
    "boolean": frozenset({bool, _NOTHING}),
    "integer": frozenset({int, _NOTHING}),
    "number": frozenset({int, float, _NOTHING}),
    "datetime": frozenset({str, _NOTHING}),
}
_TEXT = frozenset({str, _NOTHING})
_LARGEST = 2**63 - 1
EXACT = 2**53
"""Integers up to this one are exact in floating point."""


class ColumnTypes:
    """The current type of each column: the task's type until a value does not fit, then text for the whole
    column.

    No value is lost and no file fails because of one value. Lists and objects are JSON text.
    """

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self._names = [column.name for column in columns]
        self.kinds: list[ColumnKind] = [
            "text" if column.kind == "json" else column.kind for column in columns
        ]
        self.misfits: dict[str, ColumnKind] = {}
        """Columns that became text, with their original type."""

    def take(self, rows: Sequence[Item]) -> tuple[list[list[Any]], dict[int, ColumnKind]]:
        """Return the values of a batch by column, and the original types of columns that just became text."""
        columns: list[list[Any]] = []
        widened: dict[int, ColumnKind] = {}
        for index, (name, kind) in enumerate(zip(self._names, self.kinds, strict=True)):
            values = [row.get(name) for row in rows]
            fitted = _fitted(kind, values)
            if fitted is None:
                self.misfits[name] = kind
                self.kinds[index] = "text"
                widened[index] = kind
                fitted = _texts(values)
            columns.append(fitted)
        return columns, widened

    def notes(self, file: str) -> list[str]:
        """Return one line per column that became text."""
        return [
            f"the column {name} of {file} is text: not every value is {_NAMES[kind]}"
            for name, kind in self.misfits.items()
        ]


_NAMES: dict[ColumnKind, str] = {
    "boolean": "a boolean",
    "integer": "a whole number of 64 bits",
    "number": "a number that fits 64 bits",
    "datetime": "an ISO 8601 date",
}


def _fitted(kind: ColumnKind, values: list[Any]) -> list[Any] | None:
    """Convert values to a type; None if one does not fit."""
    if kind == "text":
        return _texts(values)
    if not _TYPES[kind].issuperset(map(type, values)):
        return None
    if kind == "datetime":
        moments = [None if value is None else parse_time(value) for value in values]
        return moments if moments.count(None) == values.count(None) else None
    if kind == "boolean":
        return values
    most = _LARGEST if kind == "integer" else EXACT
    if any(type(value) is int and not -most <= value <= most for value in values):
        return None
    return values


def _texts(values: list[Any]) -> list[Any]:
    if _TEXT.issuperset(map(type, values)):
        return values
    return [None if value is None else to_text(value) for value in values]
