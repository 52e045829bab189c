"""Typed columns of Parquet and SQLite files, which are written in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.outputs.cells import decode_row, parse_time, to_text
from smartspider.outputs.file_output import FileOutput
from smartspider.outputs.files import os_errors

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


class TypedFileOutput(FileOutput):
    """The base of formats with typed columns. `begin` sets `types`; `flush` writes the rows of a batch."""

    batch_rows: ClassVar[int]
    batch_bytes: ClassVar[int]

    def begin(self) -> None:
        """Start the first batch."""
        self.rows: list[Item] = []
        self.types = ColumnTypes(self.columns)
        self._bytes = self._flushed_bytes = 0

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form."""
        self.rows.append(decode_row(data))
        self._bytes += len(data)
        if len(self.rows) >= self.batch_rows or self._bytes - self._flushed_bytes >= self.batch_bytes:
            with os_errors(self.path):
                self._write_batch()

    def flush(self) -> None:
        """Write `rows`, of which there is at least one."""
        raise NotImplementedError

    def end(self) -> None:
        """Write the last batch."""
        self._write_batch()

    def size(self) -> int:
        """Return the size of the rows as JSON, in bytes."""
        return self._bytes

    def notes(self) -> list[str]:
        """Return one line per column that became text."""
        return self.types.notes(str(self.path))

    def _write_batch(self) -> None:
        if self.rows:
            self.flush()
            self.rows.clear()
            self._flushed_bytes = self._bytes


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
