"""The seam between the store and a database: connections inside transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from smartspider.store.frontier_updates import FrontierUpdates

T = TypeVar("T")

Row = tuple[Any, ...]


class RowCursor(Protocol):
    """The rows of a statement."""

    def fetchone(self) -> Row | None:
        """Return the next row."""

    def fetchall(self) -> list[Row]:
        """Return all remaining rows."""

    def close(self) -> None:
        """Discard the remaining rows."""

    def __iter__(self) -> Iterator[Row]: ...


class Connection(Protocol):
    """A connection inside a transaction. Statements are written for SQLite; another
    database translates them.
    """

    @property
    def frontier(self) -> FrontierUpdates:
        """The changes that the transaction makes to the frontier."""

    @property
    def hosts(self) -> HostIdCache:
        """The ids of known hosts."""

    def execute(self, sql: str, values: Sequence[Any] = ...) -> RowCursor:
        """Execute a statement. A remote database returns before the rows have arrived: statements sent before
        the rows are read cost no extra round trip.
        """

    def executemany(self, sql: str, values: Iterable[Sequence[Any]]) -> RowCursor:
        """Execute a statement for each of the values. Return the rows of all of them,
        in no particular order.
        """

    def changes(self) -> int:
        """Return how many rows the last statement changed."""

    def advance_run_ids(self) -> None:
        """Prepare the id of the next run, where several stores share their ids."""


class Database(Protocol):
    """1. `write` is one transaction: all of it is committed, or nothing. 2. `read` sees one snapshot.
    3. `now` is store time, the same for all processes; it never goes back.
    """

    def now(self) -> float:
        """Return store time."""

    def clock_shift(self) -> float:
        """Return by how much this process's monotonic clock is ahead of store time."""

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a write transaction, serialised with all writes that read before they decide."""

    async def write_concurrently(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a write transaction concurrently with others: it only inserts, or locks what it
        reads.
        """

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a consistent snapshot."""

    async def fetch(self, sql: str, values: Sequence[Any] = ...) -> list[Row]:
        """Return all rows of one quick read-only statement. This is the cheapest way to read."""


def rows(connection: Connection, sql: str, values: Sequence[Any] = ()) -> list[Row]:
    """Return all rows of a statement."""
    return connection.execute(sql, values).fetchall()


def row(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """Return the first row of a statement."""
    return connection.execute(sql, values).fetchone()


def one(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Any:
    """Return the single value of a statement."""
    found = row(connection, sql, values)
    assert found is not None  # noqa: S101 - the statement gives a row, whatever the tables hold
    return found[0]


MAX_HOSTS = 100_000
"""Ids that are cached before the cache is cleared."""


class HostIdCache:
    """Caches the ids of hosts. Rows of hosts are never deleted, so a committed id stays valid.

    Ids found or created in a transaction are kept apart until it commits. There is one object per
    connection; the committed ids may be shared.
    """

    def __init__(self, committed: dict[str, int] | None = None) -> None:
        self._committed: dict[str, int] = {} if committed is None else committed
        self._found: dict[str, int] = {}

    def get(self, name: str) -> int | None:
        """Return the id of a host if it is known in this transaction."""
        host_id = self._committed.get(name)
        return self._found.get(name) if host_id is None else host_id

    def add(self, name: str, host_id: int) -> None:
        """Add a host found or created in this transaction."""
        self._found[name] = host_id

    def begin(self) -> None:
        """Begin a transaction and drop ids of an uncommitted one."""
        self._found.clear()

    def commit(self) -> None:
        """Keep the ids of the transaction."""
        if self._found:
            if len(self._committed) + len(self._found) > MAX_HOSTS:
                self._committed.clear()
            self._committed.update(self._found)
            self._found.clear()
