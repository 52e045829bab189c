"""Reading the rows of a run in batches. Functions with a connection run inside a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from itertools import islice
from typing import NamedTuple

import msgspec

from smartspider.core.errors import NotFound
from smartspider.core.items.filters import Condition
from smartspider.core.runs.run import end_id, first_id, run_of
from smartspider.store import statements
from smartspider.store.database import Connection, Database, row
from smartspider.store.results.damage import FoundRow, check_order, checked_row
from smartspider.store.results.files import fill_files

SQL = statements.load("results.sql", __package__)

BATCH_ROWS = 1_000
BATCH_BYTES = 4_000_000
"""Size of a batch: this many rows or bytes are read in one transaction."""
_AT_ONCE = 20
"""Rows that are read before their size is checked."""


class RowQuery(msgspec.Struct, frozen=True):
    """Selects rows of a run. They are ordered by commit, or by the values at the path `sort`, rows without a
    value last; `is_descending` reverses either order.
    """

    run_id: int
    where: tuple[Condition, ...] = ()
    sort: str | None = None
    is_descending: bool = False


class RowPage(msgspec.Struct, frozen=True):
    """Rows, and the cursor of the next page; None if there are no more. A page may be short, or empty, and
    have a next one.
    """

    rows: list[StoredItem]
    next: str | None


class StoredItem(msgspec.Struct, frozen=True):
    """A committed item. `data` is its JSON, fields in task order."""

    id: int
    run_id: int
    url: str
    data: bytes
    created_at: float
    page_id: int
    """The request that brought it."""


class RowBatch(NamedTuple):
    """Consecutive rows. `is_last` if none follow."""

    rows: list[FoundRow]
    is_last: bool


def read_batch(
    connection: Connection, run_id: int, position: int | None, limit: int, *, is_descending: bool
) -> RowBatch:
    """Return the rows of a run after a position, up to `limit` and the size of a batch."""
    low, high = first_id(run_id), end_id(run_id)
    begin = position if position is not None else high if is_descending else low
    if position is not None:
        low, high = (low, min(position, high)) if is_descending else (max(position, low), high)
    limit = min(limit, BATCH_ROWS)
    found: list[FoundRow] = []
    taken, is_last = 0, True
    sql = SQL.before if is_descending else SQL.after
    with closing(connection.execute(sql, (low, high, limit))) as cursor:
        while some := list(islice(cursor, _AT_ONCE)):
            found += [checked_row(*one) for one in some]
            taken += sum(len(data) for _, _, data, _ in some)
            if taken >= BATCH_BYTES:
                is_last = False
                break
    check_order([one[0] for one in found], begin, is_descending=is_descending)
    filled = fill_files(connection, run_id, [data for _, _, data in found])
    rows_found = [(item_id, url_id, data) for (item_id, url_id, _), data in zip(found, filled, strict=True)]
    return RowBatch(rows_found, is_last=is_last and len(found) < limit)


def stored_item(connection: Connection, found: FoundRow) -> StoredItem:
    """Return an item with the URL of its page."""
    item_id, url_id, data = found
    url, closed_at = row(connection, SQL.origin, (url_id,)) or ("", 0.0)
    return StoredItem(item_id, run_of(item_id), url, data.encode(), closed_at, url_id)


def read_row(connection: Connection, row_id: int) -> StoredItem | None:
    """Return a row by its id; None if there is none."""
    found = row(connection, SQL.one, (row_id,))
    if found is None:
        return None
    item_id, url_id, stored = checked_row(*found)
    (data,) = fill_files(connection, run_of(item_id), [stored])
    return stored_item(connection, (item_id, url_id, data))


class RowCounts(NamedTuple):
    """The number of rows of a run, and counters that change with every change of a row."""

    items: int
    next_item: int
    updated: int

    def has_only_more_than(self, before: RowCounts) -> bool:
        """Return whether rows were only added since, and none was replaced."""
        is_unchanged = self.updated == before.updated
        return is_unchanged and self.items - before.items == self.next_item - before.next_item


def read_counts(connection: Connection, run_id: int) -> RowCounts:
    """Return the counters of the rows of a run."""
    found = row(connection, SQL.counts, (run_id,))
    if found is None:
        raise NotFound(f"there is no run {run_id}", hint="`smartspider run list` shows all runs")
    return RowCounts(*found)


async def batches(
    database: Database, run_id: int, at_most: int, *, is_descending: bool = False
) -> AsyncIterator[RowBatch]:
    """Yield up to `at_most` rows of a run in batches; other tasks run in between."""
    position: int | None = None
    while at_most > 0:
        at, left = position, at_most
        batch = await database.read(
            lambda connection, at=at, left=left: read_batch(  # type: ignore[misc]  # bound to this turn
                connection, run_id, at, left, is_descending=is_descending
            )
        )
        yield batch
        if batch.is_last:
            return
        at_most -= len(batch.rows)
        position = batch.rows[-1][0]
        await asyncio.sleep(0)
