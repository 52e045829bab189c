"""Items as an SQLite database with one table, `items`."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from smartspider.core.columns import Column, Kind
from smartspider.core.errors import StoreUnavailable
from smartspider.core.extraction import Item
from smartspider.sinks.cells import decode_row, distinct
from smartspider.sinks.file_sink import FileSink
from smartspider.sinks.files import translated
from smartspider.sinks.fitting import Fitting

_BATCH_ROWS = 1_000
_BATCH_BYTES = 8_000_000
_TYPES: dict[Kind, str] = {"number": "REAL", "integer": "INTEGER", "boolean": "INTEGER"}
_KINDS: dict[Kind, Kind] = {"datetime": "text"}
"""SQLite knows no moments: they are the texts they are."""
_SETTINGS = ("journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY")
"""Nobody else sees the file before it is whole, and it is thrown away when it does not become so."""


class SqliteSink(FileSink):
    """A `Sink` into one database file, its rows in the table `items` in their order. Number is REAL, integer
    INTEGER, boolean INTEGER (0 or 1), the rest TEXT: datetimes as they stand, lists and objects as JSON.

    A column with a value that does not fit its type is TEXT as a whole. Names that SQLite cannot tell apart
    get a number.
    """

    max_columns: ClassVar[int | None] = 2_000
    _connection: Any = None

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it."""
        self._rows.append(decode_row(data))
        self._taken += len(data)
        self._waiting += len(data)
        if len(self._rows) >= _BATCH_ROWS or self._waiting >= _BATCH_BYTES:
            self._flush()

    def size(self) -> int:
        """Bytes of the rows as JSON."""
        return self._taken

    def notes(self) -> list[str]:
        """Which columns are not of their type."""
        return self._fitting.notes(str(self._path))

    def _begin(self) -> None:
        import sqlite3

        self._rows: list[Item] = []
        self._taken = self._waiting = 0
        columns = [Column(column.name, _KINDS.get(column.kind, column.kind)) for column in self._columns]
        self._fitting = Fitting(columns or [Column("column_1")])  # a table has at least one
        labels = [label.replace("\0", "") for label in self._names] or ["column_1"]
        self._headings = distinct(labels, ignores_case=True)
        with self._told():
            self._connection = sqlite3.connect(self._file.pending, isolation_level=None)
            for setting in _SETTINGS:
                self._connection.execute(f"PRAGMA {setting}")
            self._connection.execute("BEGIN")
            self._create("items")

    def _end(self) -> None:
        self._flush()
        with self._told():
            self._connection.execute("COMMIT")
            self._connection.close()

    def _let_go(self) -> None:
        if self._connection is not None:
            with suppress(Exception):  # it belongs to a file that goes away
                self._connection.close()

    def _flush(self) -> None:
        if not self._rows:
            return
        columns, widened = self._fitting.take(self._rows)
        with self._told():
            if widened:
                self._make_text(widened)
            marks = ", ".join("?" * len(columns))
            rows = zip(*columns, strict=True)
            self._connection.executemany(f"INSERT INTO items VALUES ({marks})", rows)  # noqa: S608 - only marks
        self._rows.clear()
        self._waiting = 0

    def _create(self, table: str) -> None:
        kinds = zip(self._headings, self._fitting.kinds, strict=True)
        columns = ", ".join(f"{_quoted(heading)} {_TYPES.get(kind, 'TEXT')}" for heading, kind in kinds)
        self._connection.execute(f"CREATE TABLE {table} ({columns})")

    def _make_text(self, widened: dict[int, Kind]) -> None:
        """Put the rows written so far into a table in which some columns are text."""
        values = ", ".join(
            _cast(heading, widened[index]) if index in widened else _quoted(heading)
            for index, heading in enumerate(self._headings)
        )
        self._create("wider")
        self._connection.execute(f"INSERT INTO wider SELECT {values} FROM items")  # noqa: S608 - quoted
        self._connection.execute("DROP TABLE items")
        self._connection.execute("ALTER TABLE wider RENAME TO items")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite says about the file becomes `StoreUnavailable`."""
        import sqlite3

        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
                with translated(self._path):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise StoreUnavailable(
                f"{self._path} cannot be written: {error}", hint="choose another path"
            ) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cast(heading: str, kind: Kind) -> str:
    name = _quoted(heading)
    if kind == "boolean":
        return f"CASE {name} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
    return f"CAST({name} AS TEXT)"
