"""A connection: one transaction at a time, statements pipelined without waiting for each result.

A process can be stopped between any two statements, and the locks of its transaction are then in the way of
all others. So statements are held back until a result is needed, and sent together with a Sync: from then on
the server waits for its client under `idle_in_transaction_session_timeout`. Without a Sync no timeout of the
server runs between two statements (see ADR 41).
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper

from smartspider.backends.postgres.dialect import translate
from smartspider.backends.postgres.frontier_updates import CollectedUpdates
from smartspider.core.errors import OutcomeUnknown
from smartspider.store.database import HostIdCache, Row

T = TypeVar("T")

STANDSTILL_S = 1
"""Time that a write transaction may wait for its client. Then the server ends it: its locks are in the way of
others, and the client repeats it when it moves again.
"""
MAX_UNSENT_ROWS = 5_000
"""Rows that are held back before they are sent."""
OPTIONS = (
    f"-c statement_timeout=20s -c lock_timeout=15s -c idle_in_transaction_session_timeout={STANDSTILL_S}s"
    " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10s"
    " -c client_min_messages=warning -c search_path=smartspider,public -c jit=off"
    " -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
)
"""Timeouts are shorter than a lease (60 s): a process that waits longer has lost it. Every statement uses an
index: a plan made while a table was small must not scan it when it is large.
"""
LIMIT_TRANSACTIONS = "SET transaction_timeout = '25s'"
LIMITS_TRANSACTIONS = 170_000
"""The first version of the server that limits whole transactions, also while a client stands still in the
middle of sending.
"""
TCP = {
    "tcp_user_timeout": "10000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
}
"""The same for this side of a connection, unless its URL says otherwise."""
CONNECT_S = 5


class NumberedFlag(Dumper):
    """Stores booleans as numbers, as in SQLite."""

    format = Format.TEXT
    oid = Int8Dumper.oid

    def dump(self, obj: bool) -> bytes:
        """Return one or zero."""
        return b"1" if obj else b"0"


class PostgresCursor:
    """The rows of a statement, sent and waited for when they are read."""

    def __init__(self, cursor: psycopg.Cursor[Row], connection: PostgresConnection) -> None:
        self._cursor = cursor
        self._connection = connection

    def fetchone(self) -> Row | None:
        """Return the next row."""
        return self._answered().fetchone()

    def fetchall(self) -> list[Row]:
        """Return all remaining rows."""
        return self._answered().fetchall()

    def close(self) -> None:
        """Discard the rows; the statement is executed."""

    def __iter__(self) -> Iterator[Row]:
        return iter(self._answered())

    def _answered(self) -> psycopg.Cursor[Row]:
        if self._cursor.pgresult is None:
            self._connection.wait()
        return self._cursor


class CursorChain:
    """The rows of several statements in sequence, waited for when they are read."""

    def __init__(self, cursors: Sequence[PostgresCursor]) -> None:
        self._rows = (found for cursor in cursors for found in cursor.fetchall())

    def fetchone(self) -> Row | None:
        """Return the next row."""
        return next(self._rows, None)

    def fetchall(self) -> list[Row]:
        """Return all remaining rows."""
        return list(self._rows)

    def close(self) -> None:
        """Discard the remaining rows."""
        self._rows.close()

    def __iter__(self) -> Iterator[Row]:
        return self._rows


class PostgresConnection:
    """A connection for the store; `frontier` collects the updates to send to the frontier."""

    def __init__(self, url: str, known_hosts: dict[str, int] | None = None) -> None:
        self.driver: psycopg.Connection[Row] = psycopg.connect(
            make_conninfo(
                url, **{name: value for name, value in TCP.items() if name not in conninfo_to_dict(url)}
            ),
            autocommit=True,
            options=OPTIONS,
            connect_timeout=CONNECT_S,
            application_name="smartspider",
        )
        if self.driver.info.server_version >= LIMITS_TRANSACTIONS:
            self.driver.execute(LIMIT_TRANSACTIONS)
        # One type for all numbers, so that a statement is prepared once, whatever its values are.
        for numbers in (Int8BinaryDumper, Int8Dumper):
            self.driver.adapters.register_dumper(int, numbers)
        self.driver.adapters.register_dumper(bool, NumberedFlag)
        self.frontier: CollectedUpdates = CollectedUpdates(self)
        self.hosts = HostIdCache(known_hosts)
        self.prepared: dict[tuple[str, tuple[int, ...]], bytes] = {}
        """Names of prepared statements; see `pipelined_reads.py`."""
        self._is_writing = False
        self._unsent: list[tuple[psycopg.Cursor[Row], str, Any]] = []
        self._unsent_rows = 0
        self._last: psycopg.Cursor[Row] | None = None
        self._pipeline: psycopg.Pipeline | None = None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> PostgresCursor:
        """Execute a statement."""
        statement = translate(sql)
        text = statement.write if self._is_writing else statement.one
        given: Any = {f"p{place}": value for place, value in enumerate(values, 1)}
        return self._execute(text, given if statement.is_numbered else tuple(values))

    def executemany(self, sql: str, values: Iterable[Sequence[Any]]) -> PostgresCursor | CursorChain:
        """Execute a statement for each of the values, as one statement if there is a version for that."""
        given = list(values)
        if not given:
            return CursorChain([])
        statement = translate(sql)
        if statement.many is None:
            return CursorChain([self.execute(sql, one) for one in given])
        columns = [_column(column) for column in zip(*given, strict=True)]
        cursor = self._execute(statement.many, columns)
        self._unsent_rows += len(given)
        if self._unsent_rows >= MAX_UNSENT_ROWS:
            self.wait()
        return cursor

    def _execute(self, text: str, values: Any) -> PostgresCursor:
        cursor = self._last = self.driver.cursor()
        self._unsent.append((cursor, text, values))
        return PostgresCursor(cursor, self)

    def wait(self) -> None:
        """Send what was held back, then a Sync, and wait for all results."""
        self._send()
        if self._pipeline is not None:
            self._pipeline.sync()

    def _send(self) -> None:
        unsent, self._unsent, self._unsent_rows = self._unsent, [], 0
        for cursor, text, values in unsent:
            try:
                cursor.execute(text, values)
            except psycopg.DataError:  # raised by the driver for NUL; nothing was sent
                if self._is_writing:
                    raise
                cursor.execute(text, without_nul(values))

    def _check_alive(self) -> None:
        """Raise `psycopg.OperationalError` if the server has ended the transaction, before anything more is
        sent: then it is certain that nothing was committed.
        """
        if self._pipeline is not None and not self._pipeline.result_queue:
            line = select.poll()
            line.register(self.driver.pgconn.socket, select.POLLIN)
            if line.poll(0):  # all results were read, so this is the end of the session
                raise psycopg.OperationalError("the server ended a transaction that stood still")

    def advance_run_ids(self) -> None:
        """Do nothing: a database shares its ids with no other."""

    def changes(self) -> int:
        """Return how many rows the last statement changed."""
        if self._last is None:
            return 0
        self.wait()
        return max(self._last.rowcount, 0)

    def transact(
        self, begin: Sequence[str], work: Callable[[PostgresConnection], T], *, is_writing: bool
    ) -> T:
        """Run `work` in a transaction; statements whose results are not read are pipelined, the commit
        included.
        """
        self._is_writing = is_writing
        self._last = None
        self._unsent, self._unsent_rows = [(self.driver.cursor(), one, None) for one in begin], 0
        self.frontier.clear()
        self.hosts.begin()
        is_ending = False
        try:
            with self.driver.pipeline() as self._pipeline:
                result = work(self)
                if is_writing:
                    self.frontier.write()
                self._check_alive()
                self._send()
                is_ending = True
                self.driver.execute("COMMIT")
        except BaseException as error:
            self._pipeline = None
            if not self.is_usable and is_ending and is_writing:
                raise OutcomeUnknown(
                    "the connection was lost during commit; the change may or may not have been applied",
                    hint="check whether the change was applied before you retry",
                ) from error
            self._roll_back(error)
            raise
        self._pipeline = None
        self.hosts.commit()
        return result

    def _roll_back(self, error: BaseException) -> None:
        """Roll back. After a server error the connection is replaced: statements to prepare after the failed
        one are not prepared, which the driver does not know.
        """
        status = self.driver.info.transaction_status
        if isinstance(error, psycopg.Error) or status not in (
            TransactionStatus.IDLE,
            TransactionStatus.INTRANS,
        ):
            self.driver.close()
        elif self.is_usable and status == TransactionStatus.INTRANS:
            # Not by the driver: it would drop its prepared statements, and only sometimes tell the server.
            ended = self.driver.pgconn.exec_(b"ROLLBACK")
            if ended.status != ExecStatus.COMMAND_OK:
                self.driver.close()

    @property
    def is_usable(self) -> bool:
        """Return whether the server is still connected, as far as known."""
        return not (self.driver.closed or self.driver.broken)

    def close(self) -> None:
        """Close the connection."""
        self.driver.close()


def without_nul(values: Any) -> Any:
    """Return values without NUL: no text in the store has one, nor its replacement character here."""
    if isinstance(values, dict):
        return {name: without_nul(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [without_nul(value) for value in values]
    return values.replace("\0", "\ufffd\ufffe") if isinstance(values, str) else values


def _column(values: tuple[Any, ...]) -> list[Any]:
    """Return values of one type: the driver refuses lists of mixed booleans and numbers, or integers and
    floats.
    """
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {bool} or (len(kinds) > 1 and kinds <= {bool, int, float}):
        kind = float if float in kinds else int
        return [None if value is None else kind(value) for value in values]
    return list(values)
