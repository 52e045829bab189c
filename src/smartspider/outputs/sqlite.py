"""An SQLite database with one table, `items`."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from smartspider.core.errors import StoreUnavailable
from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.outputs.cells import make_distinct
from smartspider.outputs.column_types import ColumnTypes, TypedFileOutput
from smartspider.outputs.files import os_errors

_TYPES: dict[ColumnKind, str] = {"number": "REAL", "integer": "INTEGER", "boolean": "INTEGER"}
_KINDS: dict[ColumnKind, ColumnKind] = {"datetime": "text"}
"""SQLite has no type for times: they stay text."""
_SETTINGS = ("journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY")
"""No other process sees the file before it is complete, and a failed one is removed."""


class SqliteOutput(TypedFileOutput):
    """Writes one database file with the rows in the table `items`, in order. Number is REAL, integer INTEGER,
    boolean INTEGER (0 or 1), the rest TEXT: datetimes unchanged, lists and objects as JSON.

    If a value does not fit the type of its column, the whole column gets a wider type, in the end TEXT.
    Column names that SQLite considers equal get a number.
    """

    media_type: ClassVar[str] = "application/vnd.sqlite3"
    max_columns: ClassVar[int | None] = 2_000
    batch_rows: ClassVar[int] = 1_000
    batch_bytes: ClassVar[int] = 8_000_000
    _connection: Any = None

    def begin(self) -> None:
        """Create the table."""
        import sqlite3

        super().begin()
        columns = [TableColumn(column.name, _KINDS.get(column.kind, column.kind)) for column in self.columns]
        self.types = ColumnTypes(columns or [TableColumn("column_1")])  # a table needs at least one
        labels = [label.replace("\0", "") for label in self.names] or ["column_1"]
        self._headings = make_distinct(labels, ignores_case=True)
        with self._sqlite_errors():
            self._connection = sqlite3.connect(self.file.pending, isolation_level=None)
            for setting in _SETTINGS:
                self._connection.execute(f"PRAGMA {setting}")
            self._connection.execute("BEGIN")
            self._create("items")

    def end(self) -> None:
        """Insert the last batch and commit."""
        super().end()
        with self._sqlite_errors():
            self._connection.execute("COMMIT")
            self._connection.close()

    def release(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(Exception):  # the file is about to be removed
                self._connection.close()

    def flush(self) -> None:
        """Insert the rows."""
        columns, changed = self.types.take(self.rows)
        with self._sqlite_errors():
            if changed:
                self._change_types(changed)
            marks = ", ".join("?" * len(columns))
            rows = zip(*columns, strict=True)
            self._connection.executemany(f"INSERT INTO items VALUES ({marks})", rows)  # noqa: S608 - only marks

    def _create(self, table: str) -> None:
        kinds = zip(self._headings, self.types.kinds, strict=True)
        columns = ", ".join(f"{_quoted(heading)} {_TYPES.get(kind, 'TEXT')}" for heading, kind in kinds)
        self._connection.execute(f"CREATE TABLE {table} ({columns})")

    def _change_types(self, changed: dict[int, ColumnKind]) -> None:
        """Copy the rows written so far to a table in which some columns have another type; `changed` are the
        previous types.
        """
        values = ", ".join(
            _as_text(heading, changed[index])
            if index in changed and self.types.kinds[index] == "text"
            else _quoted(heading)
            for index, heading in enumerate(self._headings)
        )
        self._create("wider")
        self._connection.execute(f"INSERT INTO wider SELECT {values} FROM items")  # noqa: S608 - quoted
        self._connection.execute("DROP TABLE items")
        self._connection.execute("ALTER TABLE wider RENAME TO items")

    @contextmanager
    def _sqlite_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into `StoreUnavailable`."""
        import sqlite3

        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
                with os_errors(self.path):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise StoreUnavailable(
                f"{self.path} cannot be written: {error}", hint="choose another path"
            ) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _as_text(heading: str, kind: ColumnKind) -> str:
    name = _quoted(heading)
    if kind == "boolean":
        return f"CASE {name} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
    return f"CAST({name} AS TEXT)"
