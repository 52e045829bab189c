"""A database as the functions of this package see it: one transaction at a time, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from smartspider.store.frontier_updates import FrontierUpdates

T = TypeVar("T")

Row = tuple[Any, ...]


class RowCursor(Protocol):
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
    def frontier(self) -> FrontierUpdates:
        """What the transaction means for the frontier."""

    @property
    def hosts(self) -> HostIdCache:
        """Hosts that need not be looked up."""

    def execute(self, sql: str, values: Sequence[Any] = ...) -> RowCursor:
        """Carry out one statement. Where the database is far, rows are only waited for when they are read:
        what is sent before that costs no round trip of its own.
        """

    def executemany(self, sql: str, values: Iterable[Sequence[Any]]) -> RowCursor:
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

    async def write_concurrently(self, work: Callable[[Connection], T]) -> T:
        """The same beside other writes: for work that only adds, or locks what it reads."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot."""

    async def fetch(self, sql: str, values: Sequence[Any] = ...) -> list[Row]:
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


MAX_HOSTS = 100_000
"""Then it begins anew: a crawl of the whole web must not fill the memory with names."""


class HostIdCache:
    """Rows of hosts are never deleted, so an id that was committed once is right for ever.

    What a transaction finds or makes is kept apart until it is kept; one object per connection, the ids
    themselves may be shared.
    """

    def __init__(self, committed: dict[str, int] | None = None) -> None:
        self._committed: dict[str, int] = {} if committed is None else committed
        self._found: dict[str, int] = {}

    def get(self, name: str) -> int | None:
        """The id of a host, if it is known in this transaction."""
        host_id = self._committed.get(name)
        return self._found.get(name) if host_id is None else host_id

    def add(self, name: str, host_id: int) -> None:
        """It was found or made in this transaction."""
        self._found[name] = host_id

    def begin(self) -> None:
        """A transaction begins; what the one before found is not sure."""
        self._found.clear()

    def commit(self) -> None:
        """What the transaction found is sure now."""
        if self._found:
            if len(self._committed) + len(self._found) > MAX_HOSTS:
                self._committed.clear()
            self._committed.update(self._found)
            self._found.clear()
