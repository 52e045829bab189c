"""A database as the functions of this package see it: one transaction at a time, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from smartspider.backends.sql.known_hosts import KnownHosts
from smartspider.backends.sql.moves import FrontierMoves

T = TypeVar("T")

Row = tuple[Any, ...]


class Cursor(Protocol):
    """Rows of a statement."""

    def fetchone(self) -> Row | None:
        """The next row."""

    def fetchall(self) -> list[Row]:
        """All rows that are left."""

    def close(self) -> None:
        """No more rows are wanted."""

    def __iter__(self) -> Iterator[Row]: ...


class Connection(Protocol):
    """A connection inside a transaction. Statements are SQLite's; another database reads them its way."""

    @property
    def moves(self) -> FrontierMoves:
        """What the transaction means for the frontier."""

    @property
    def hosts(self) -> KnownHosts:
        """Hosts that need not be looked up."""

    def execute(self, sql: str, values: Sequence[Any] = ...) -> Cursor:
        """Carry out one statement. Where the database is far, rows are only waited for when they are read:
        what is sent before that costs no round trip of its own.
        """

    def executemany(self, sql: str, values: Iterable[Sequence[Any]]) -> Cursor:
        """Carry out a statement for each of the values; the rows of all of them, in no order."""

    def changes(self) -> int:
        """How many rows the last statement changed."""


class Database(Protocol):
    """1. `write` is one transaction: all of it is kept, or nothing. 2. `read` sees one moment.
    3. `now` is store time, the same for all processes; it never goes back.
    """

    def now(self) -> float:
        """Store time."""

    def clock_shift(self) -> float:
        """How far this process's monotonic clock is ahead of store time."""

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one write transaction, alone among all writes that read before they decide."""

    async def write_beside(self, work: Callable[[Connection], T]) -> T:
        """The same beside other writes: for work that only adds, or locks what it reads."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot."""

    async def ask(self, sql: str, values: Sequence[Any] = ...) -> list[Row]:
        """All rows of one statement that only looks and is quick: the cheapest way to do so."""


def rows(connection: Connection, sql: str, values: Sequence[Any] = ()) -> list[Row]:
    """All rows of a statement."""
    return connection.execute(sql, values).fetchall()


def row(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """The first row of a statement."""
    return connection.execute(sql, values).fetchone()


def one(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Any:
    """The one value that a statement always gives."""
    found = row(connection, sql, values)
    assert found is not None  # noqa: S101 - the statement gives a row, whatever the tables hold
    return found[0]
