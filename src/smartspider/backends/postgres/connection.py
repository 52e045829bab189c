"""One connection: a transaction at a time, its statements sent ahead without waiting for each answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format, TransactionStatus
from psycopg.types.numeric import Int2Dumper

from smartspider.backends.postgres.dialect import wording
from smartspider.backends.postgres.moves import CollectedMoves
from smartspider.backends.sql.connection import Row
from smartspider.core.errors import StoreUnavailable

T = TypeVar("T")

OPTIONS = (
    "-c statement_timeout=20s -c lock_timeout=15s -c idle_in_transaction_session_timeout=20s"
    " -c client_min_messages=warning -c search_path=smartspider,public -c jit=off"
)
"""All below the time of a lease (60 s): who waits longer than that has lost it."""
CONNECT_S = 5


class OutcomeUnknown(StoreUnavailable):
    """The end of a transaction was sent and no answer came: it may be kept or not."""

    code = "outcome_unknown"


class NumberedFlag(Dumper):
    """Flags are numbers in the store, as in SQLite."""

    format = Format.TEXT
    oid = Int2Dumper.oid

    def dump(self, obj: bool) -> bytes:
        """One or nought."""
        return b"1" if obj else b"0"


class PostgresCursor:
    """Rows of a statement; they are waited for when somebody wants them."""

    def __init__(self, cursor: psycopg.Cursor[Row]) -> None:
        self._cursor = cursor

    def fetchone(self) -> Row | None:
        """The next row."""
        return self._cursor.fetchone()

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        return self._cursor.fetchall()

    def close(self) -> None:
        """No more rows are wanted."""
        self._cursor.close()

    def __iter__(self) -> Iterator[Row]:
        return iter(self._cursor.fetchall())


class Rows:
    """Rows that are there already."""

    def __init__(self, found: list[Row]) -> None:
        self._found = found[::-1]

    def fetchone(self) -> Row | None:
        """The next row."""
        return self._found.pop() if self._found else None

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        left, self._found = self._found[::-1], []
        return left

    def close(self) -> None:
        """No more rows are wanted."""
        self._found = []

    def __iter__(self) -> Iterator[Row]:
        return iter(self.fetchall())


class PostgresConnection:
    """A connection as the store's functions see it; `moves` collects what is told to the frontier."""

    def __init__(self, url: str) -> None:
        self.driver: psycopg.Connection[Row] = psycopg.connect(
            url, autocommit=True, options=OPTIONS, connect_timeout=CONNECT_S, application_name="smartspider"
        )
        self.driver.adapters.register_dumper(bool, NumberedFlag)
        self.moves = CollectedMoves(self)
        self._is_writing = False
        self._last: psycopg.Cursor[Row] | None = None
        self._pipeline: psycopg.Pipeline | None = None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> PostgresCursor:
        """Carry out one statement."""
        words = wording(sql)
        text = words.write if self._is_writing else words.one
        given: Any = {f"p{place}": value for place, value in enumerate(values, 1)}
        cursor = self.driver.cursor()
        cursor.execute(text, given if words.is_numbered else tuple(values))
        self._last = cursor
        return PostgresCursor(cursor)

    def executemany(self, sql: str, values: Iterable[Sequence[Any]]) -> Rows:
        """Carry out a statement for each of the values: at once, where there are words for that."""
        given = list(values)
        if not given:
            return Rows([])
        words = wording(sql)
        if words.many is None:
            return self._one_by_one(sql, given)
        cursor = self.driver.cursor()
        columns = [[_plain(value) for value in column] for column in zip(*given, strict=True)]
        cursor.execute(words.many, columns)
        self._last = cursor
        return Rows(cursor.fetchall() if " RETURNING " in words.many or _is_query(words.many) else [])

    def _one_by_one(self, sql: str, given: list[Sequence[Any]]) -> Rows:
        cursors = [self.execute(sql, values) for values in given]
        if "RETURNING" not in sql and not _is_query(sql):
            return Rows([])
        return Rows([found for cursor in cursors for found in cursor.fetchall()])

    def changes(self) -> int:
        """How many rows the last statement changed."""
        if self._last is None:
            return 0
        if self._pipeline is not None:
            self._pipeline.sync()
        return max(self._last.rowcount, 0)

    def transact(
        self, begin: Sequence[str], work: Callable[[PostgresConnection], T], *, is_writing: bool
    ) -> T:
        """Run `work` in one transaction; what nobody waits for is sent ahead, the end of it included."""
        self._is_writing = is_writing
        self._last = None
        self.moves.clear()
        is_ending = False
        try:
            with self.driver.pipeline() as self._pipeline:
                for statement in begin:
                    self.driver.execute(statement)
                result = work(self)
                is_ending = True
                self.driver.execute("COMMIT")
        except BaseException as error:
            self._pipeline = None
            if not self.is_usable and is_ending and is_writing:
                raise OutcomeUnknown("the store did not say whether it kept a change") from error
            self._roll_back()
            raise
        self._pipeline = None
        return result

    def _roll_back(self) -> None:
        if self.is_usable and self.driver.info.transaction_status != TransactionStatus.IDLE:
            self.driver.execute("ROLLBACK")

    @property
    def is_usable(self) -> bool:
        """Whether the server is still at the other end, as far as known."""
        return not (self.driver.closed or self.driver.broken)

    def close(self) -> None:
        """Let go of it."""
        self.driver.close()


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _is_query(sql: str) -> bool:
    return sql.lstrip().upper().startswith(("SELECT", "WITH"))
