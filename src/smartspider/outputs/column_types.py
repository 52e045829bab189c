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
    """The current type of each column, as the stored rows have it.

    A number, integer, boolean or datetime of the task is that until a value does not fit, then text for the
    whole column. Where the task determines no type, the values do: `json` stands for a column without a value
    so far, and whole numbers become numbers when a fraction follows. No value is lost and no file fails
    because of one value. Lists and objects are JSON text.
    """

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self._names = [column.name for column in columns]
        self._is_open = [column.kind in ("json", "text") for column in columns]
        self._has_large = [False] * len(columns)
        """Columns with integers that are not exact in floating point."""
        self.kinds: list[ColumnKind] = [
            "json" if is_open else column.kind for column, is_open in zip(columns, self._is_open, strict=True)
        ]
        self.misfits: dict[str, ColumnKind] = {}
        """Columns that became text, with the type of the task."""

    def take(self, rows: Sequence[Item]) -> tuple[list[list[Any]], dict[int, ColumnKind]]:
        """Return the values of a batch by column, and the previous types of columns that just changed."""
        columns: list[list[Any]] = []
        changed: dict[int, ColumnKind] = {}
        for index, name in enumerate(self._names):
            values = [row.get(name) for row in rows]
            kind = self.kinds[index]
            if self._is_open[index] and kind != "text":
                self.kinds[index] = self._widened(index, values)
            fitted = _fitted(self.kinds[index], values)
            if fitted is None:
                self.misfits[name] = kind
                self.kinds[index] = "text"
                fitted = _texts(values)
            if self.kinds[index] != kind:
                changed[index] = kind
            columns.append(fitted)
        return columns, changed

    def _widened(self, index: int, values: list[Any]) -> ColumnKind:
        """Return the type that holds the values of a column so far and those of a batch."""
        kind, found = self.kinds[index], _found_kind(values)
        if found == "integer" or (found == "number" and int in map(type, values)):
            self._has_large[index] |= any(type(value) is int and abs(value) > EXACT for value in values)
        if found in ("json", kind):
            return kind
        if kind == "json":
            kind = found
        is_number = {kind, found} <= {"integer", "number"}
        if kind != found and not is_number:
            return "text"
        wider: ColumnKind = "number" if "number" in (kind, found) else found
        return "text" if wider == "number" and self._has_large[index] else wider

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


def _found_kind(values: list[Any]) -> ColumnKind:
    """Return the type of the values of a batch; `json` if all are null."""
    types = set(map(type, values))
    types.discard(_NOTHING)
    if not types:
        return "json"
    if types == {bool}:
        return "boolean"
    if types == {int}:
        return "integer" if all(value is None or abs(value) <= _LARGEST for value in values) else "text"
    return "number" if types <= {int, float} else "text"


def _fitted(kind: ColumnKind, values: list[Any]) -> list[Any] | None:
    """Convert values to a type; None if one does not fit."""
    if kind in ("text", "json"):
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
