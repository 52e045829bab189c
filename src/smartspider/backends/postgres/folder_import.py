"""Importing a data folder into a database, in batches. The database is closed to others until the import is
complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import psycopg
from psycopg import sql

from smartspider.backends.postgres import schema
from smartspider.backends.postgres.address import PostgresAddress, translated
from smartspider.core.errors import StoreUnavailable
from smartspider.store import statements
from smartspider.store.database import Row

SQL = statements.load("sql/folder_import.sql", __package__)

CONNECT_S = 5
OPTIONS = (
    "-c lock_timeout=60s -c client_min_messages=warning -c search_path=smartspider -c jit=off"
    " -c synchronous_commit=off"
)
"""Batches need not be durable one by one: what is lost with the server is lost together with its progress."""

Key = tuple[Any, ...]


class ImportState(msgspec.Struct, frozen=True):
    """The move that fills a database."""

    id: str
    shift_s: float
    """By how much its clock is ahead of the other store's."""
    is_finished: bool


class TableProgress(msgspec.Struct, frozen=True):
    """The imported rows of a table, and the key of the last one."""

    rows: int = 0
    last: Key | None = None


class FolderImport:
    """A connection to the database to fill. Unsuitable servers are refused."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._address = PostgresAddress(url)
        self.place = self._address.place
        self._tables: set[str] = set()
        self.version = 0
        """Format of its tables; 0 if there are none."""
        with translated(self._address):
            self._connection: psycopg.Connection[Row] = psycopg.connect(
                url,
                autocommit=True,
                options=OPTIONS,
                connect_timeout=CONNECT_S,
                application_name="smartspider move",
            )
        try:
            with translated(self._address):
                schema.refuse_server(self._connection, self._address)
            self._read_tables()
        except BaseException:
            self._connection.close()
            raise

    def refuse_version(self) -> None:
        """Raise `StoreUnavailable` for tables of another format."""
        if self.version not in (0, schema.VERSION):
            raise StoreUnavailable(
                f"the store at {self.place} has format {self.version}, this SmartSpider writes"
                f" {schema.VERSION}",
                hint="use an empty database",
            )

    def state(self) -> ImportState | None:
        """Return the move that fills or filled the database."""
        if "moving" not in self._tables:
            return None
        found = self._fetch(SQL.moving)
        return ImportState(*found[0]) if found else None

    def nonempty(self, names: Sequence[str]) -> list[str]:
        """Return those of the tables that have rows."""
        there = [name for name in names if name in self._tables]
        return [name for name in there if self._fetch(_of("SELECT EXISTS (SELECT 1 FROM {})", name))[0][0]]

    def last_epoch(self) -> int:
        """Return the epoch of the last keeper's term; 0 if there was none."""
        return int(self._fetch("SELECT max(epoch) FROM leader")[0][0]) if "leader" in self._tables else 0

    def now(self) -> float:
        """Return store time."""
        return float(self._fetch(SQL.now)[0][0])

    def lock(self) -> bool:
        """Take the import lock. Return False if another process holds it."""
        is_locked = bool(self._fetch(SQL.lock)[0][0])
        self._read_tables()  # another process may have filled it until now
        return is_locked

    def _read_tables(self) -> None:
        with translated(self._address):
            self._tables = {name for (name,) in self._connection.execute(SQL.tables)}
            self.version = schema.found_format(self._connection, self._address)

    def other_connections(self) -> int:
        """Return the number of connections of other processes."""
        return int(self._fetch(SQL.others)[0][0])

    def begin(self, move_id: str, shift_s: float) -> ImportState:
        """Create the tables if there are none, and close them to other processes."""
        if self.version == 0:
            schema.prepare(self._url)
        with translated(self._address), self._connection.transaction():
            self._connection.execute("SET LOCAL synchronous_commit = on")
            self._connection.execute(SQL.make.encode())
            self._connection.execute(SQL.begin.encode(), (move_id, shift_s))
        self._read_tables()
        return ImportState(move_id, shift_s, is_finished=False)

    def cancel(self) -> None:
        """Open the database again, empty as before."""
        with translated(self._address):
            self._connection.execute("DROP TABLE moving, moving_progress")

    def empty(self, tables: Sequence[str]) -> None:
        """Delete the rows of a cancelled move, and open the database again. No other process has written to
        it.
        """
        names = sql.SQL(", ").join(map(sql.Identifier, (*tables, "lane")))
        with translated(self._address), self._connection.transaction():
            self._connection.execute("SET LOCAL synchronous_commit = on")
            self._connection.execute(sql.SQL("TRUNCATE {}").format(names))
            self._connection.execute(SQL.forget_last_notified.encode())
            self._connection.execute("DROP TABLE moving, moving_progress")
        self._read_tables()

    def progress(self, table: str) -> TableProgress:
        """Return the progress of a table."""
        found = self._fetch(SQL.progress, (table,))
        if not found:
            return TableProgress()
        last, rows = found[0]
        return TableProgress(rows, msgspec.msgpack.decode(last, type=Key))

    def copy(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], last: Key) -> bool:
        """Add rows together with the progress. Return False if they have text that cannot be stored."""
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
        advanced = (table, msgspec.msgpack.encode(last), len(rows))
        with translated(self._address):
            try:
                with self._connection.transaction(), self._connection.cursor() as cursor:
                    with cursor.copy(statement) as copying:
                        for row in rows:
                            copying.write_row(row)
                    cursor.execute(SQL.advance.encode(), advanced)
            except (psycopg.DataError, UnicodeError):
                return False
        return True

    def count(self, tables: Sequence[str]) -> dict[str, int]:
        """Return the number of rows of tables."""
        return {name: int(self._fetch(_of("SELECT count(*) FROM {}", name))[0][0]) for name in tables}

    def set_counters(
        self, numbers: Mapping[str, int], audit: tuple[int, str], log_bytes: int, last_notified: int | None
    ) -> None:
        """Set what a store keeps besides its rows. May be repeated."""
        with translated(self._address), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(SQL.lanes.encode())
            cursor.execute(SQL.audit_head.encode(), {"last": audit[0], "hash": audit[1]})
            cursor.execute(SQL.log_size.encode(), (log_bytes, numbers.get("log", 0)))
            if last_notified is not None:
                cursor.execute(SQL.last_notified.encode(), (last_notified,))
            for name, number in numbers.items():
                if number:
                    cursor.execute(SQL.number.encode(), {"number": number, "table": f'"{name}"'})

    def finish(self) -> None:
        """Open the database; the import is durable when this returns."""
        with translated(self._address):
            with self._connection.transaction():
                self._connection.execute("SET LOCAL synchronous_commit = on")
                self._connection.execute("DROP TABLE IF EXISTS moving_progress")
                self._connection.execute(SQL.finish.encode())
            names = sql.SQL(", ").join(map(sql.Identifier, sorted(self._tables - {"moving_progress"})))
            self._connection.execute(sql.SQL("ANALYZE {}").format(names))

    def _fetch(self, text: str | sql.Composed, values: Sequence[Any] = ()) -> list[Row]:
        with translated(self._address):
            statement = text.encode() if isinstance(text, str) else text
            return self._connection.execute(statement, values or None).fetchall()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _of(text: str, name: str) -> sql.Composed:
    return sql.SQL(text).format(sql.Identifier(name))
