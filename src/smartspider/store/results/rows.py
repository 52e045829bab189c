"""Looking through the rows of a run, piece by piece. The functions run inside a transaction."""

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

SQL = statements.load("results.sql", __package__)

PIECE_ROWS = 1_000
PIECE_BYTES = 4_000_000
"""Rows that are looked at before others have a turn: so many, or of so many bytes."""
_AT_ONCE = 20
"""Rows that are read before their size is looked at."""


FoundRow = tuple[int, int, str]
"""A row as the table has it: its id, that of its page, and its JSON."""


class RowQuery(msgspec.Struct, frozen=True):
    """Which rows of a run, and in which order: that they were committed in, or that of the values at the path
    `sort`, rows without a value last. `is_descending` turns either around.
    """

    run_id: int
    where: tuple[Condition, ...] = ()
    sort: str | None = None
    is_descending: bool = False


class RowPage(msgspec.Struct, frozen=True):
    """Rows, and where to go on; None: there are no more. A page may be short, or empty, and still go on."""

    rows: list[StoredItem]
    next: str | None


class StoredItem(msgspec.Struct, frozen=True):
    """A committed item. `data` is its JSON, fields in task order."""

    id: int
    run_id: int
    url: str
    data: bytes
    created_at: float


class RowBatch(NamedTuple):
    """Rows that follow each other; `is_last` when none come after them."""

    rows: list[FoundRow]
    is_last: bool


def read_batch(
    connection: Connection, run_id: int, place: int | None, limit: int, *, is_descending: bool
) -> RowBatch:
    """The rows of a run after a place, as many as are wanted and fit into a piece."""
    low, high = first_id(run_id), end_id(run_id)
    if place is not None:
        low, high = (low, min(place, high)) if is_descending else (max(place, low), high)
    limit = min(limit, PIECE_ROWS)
    found: list[FoundRow] = []
    taken = 0
    sql = SQL.before if is_descending else SQL.after
    with closing(connection.execute(sql, (low, high, limit))) as cursor:
        while some := list(islice(cursor, _AT_ONCE)):
            found += some
            taken += sum(len(data) for _, _, data in some)
            if taken >= PIECE_BYTES:
                return RowBatch(found, is_last=False)
    return RowBatch(found, is_last=len(found) < limit)


def stored_item(connection: Connection, found: FoundRow) -> StoredItem:
    """A row, with the page it comes from."""
    item_id, url_id, data = found
    url, closed_at = row(connection, SQL.origin, (url_id,)) or ("", 0.0)
    return StoredItem(item_id, run_of(item_id), url, data.encode(), closed_at)


class RowCounts(NamedTuple):
    """How many rows a run has, and what changes with every one of them."""

    items: int
    next_item: int
    updated: int


def read_counts(connection: Connection, run_id: int) -> RowCounts:
    """How the rows of a run stand."""
    found = row(connection, SQL.standing, (run_id,))
    if found is None:
        raise NotFound(f"there is no run {run_id}", hint="`smartspider run list` shows the runs there are")
    return RowCounts(*found)


async def batches(
    database: Database, run_id: int, at_most: int, *, is_descending: bool = False
) -> AsyncIterator[RowBatch]:
    """The rows of a run, so many at most; others have a turn after each piece."""
    place: int | None = None
    while at_most > 0:
        at, left = place, at_most
        piece = await database.read(
            lambda connection, at=at, left=left: read_batch(  # type: ignore[misc]  # bound to this turn
                connection, run_id, at, left, is_descending=is_descending
            )
        )
        yield piece
        if piece.is_last:
            return
        at_most -= len(piece.rows)
        place = piece.rows[-1][0]
        await asyncio.sleep(0)
