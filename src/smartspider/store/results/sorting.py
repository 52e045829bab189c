"""Rows sorted by value. A page caches the positions of the following rows for the next pages."""

from __future__ import annotations

import asyncio
import base64
from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec

from smartspider.core.errors import RequestInvalid
from smartspider.core.items.filters import parse_path, row_filter, row_reader, sort_key, value_at
from smartspider.store.database import Connection, Database
from smartspider.store.results import rows
from smartspider.store.results.rows import RowCounts, RowPage, RowQuery, StoredItem

MAX_ROWS = 200_000
"""Runs with more rows are not sorted by value, since every row must be read."""
WINDOW_SIZE = 5_000
"""Positions found by one scan."""
MAX_WINDOWS = 4
PAGE_BYTES = 16_000_000

SortPosition = tuple[int, Any, int]
"""Rank and value that a row is sorted by, and its id."""
_VALUES: dict[int, type | tuple[type, ...]] = {
    -1: int, 0: (int, float), 1: str, 2: bool, 3: str, 4: int,
}  # fmt: skip


class SortedWindow(NamedTuple):
    """Positions of rows after `start` in sort order. `is_last` if none follow."""

    counts: RowCounts
    start: SortPosition | None
    positions: list[SortPosition]
    is_last: bool

    def after(self, position: SortPosition | None, limit: int) -> list[SortPosition] | None:
        """Return the positions after one, up to `limit` + 1; None if the window does not cover them."""
        if position == self.start:
            first = 0
        elif position in self.positions:
            first = self.positions.index(position) + 1
        else:
            return None
        found = self.positions[first : first + limit + 1]
        return found if self.is_last or len(found) > limit else None


class SortedRows:
    """Pages of sorted rows. One scan runs at a time, so memory is bounded."""

    def __init__(self, database: Database, window_size: int) -> None:
        self._db, self._window_size = database, window_size
        self._windows: OrderedDict[bytes, SortedWindow] = OrderedDict()
        self._turn = asyncio.Lock()

    async def page(self, query: RowQuery, cursor: str | None, limit: int) -> RowPage:
        """Return a page of rows in the order of the values at `query.sort`."""
        start = None if cursor is None else _position_of(cursor)
        counts = await self._db.read(lambda connection: rows.read_counts(connection, query.run_id))
        if counts.items > MAX_ROWS:
            raise RequestInvalid(
                f"run {query.run_id} has {counts.items:,} rows; at most {MAX_ROWS:,} can be sorted by value",
                hint="omit the sorting, or export the rows (for example as parquet or sqlite) and sort there",
            )
        key = msgspec.json.encode(query)
        async with self._turn:
            window = self._windows.pop(key, None)
            positions = window.after(start, limit) if window and window.counts == counts else None
            if window is None or positions is None:
                window = await self._scan(query, start, counts, limit)
                positions = window.positions[: limit + 1]
            self._windows[key] = window
            while len(self._windows) > MAX_WINDOWS:
                self._windows.popitem(last=False)
        return await self._db.read(lambda connection: _page(connection, positions, limit))

    async def _scan(
        self, query: RowQuery, start: SortPosition | None, counts: RowCounts, limit: int
    ) -> SortedWindow:
        """Scan all rows for the first ones after `start`."""
        path = parse_path(query.sort or "")
        fits = row_filter(query.where)
        read = row_reader([path, *(parse_path(condition.path) for condition in query.where)])
        turned = query.is_descending
        size = max(self._window_size, limit + 1)
        best: list[SortPosition] = []
        is_last = True
        async for batch in rows.batches(self._db, query.run_id, MAX_ROWS):
            for item_id, _, data in batch.rows:
                item = read(data)
                if fits is not None and not fits(item):
                    continue
                position = (*sort_key(value_at(item, path), is_descending=turned), item_id)
                if start is None or (position < start if turned else position > start):
                    best.append(position)
            best.sort(reverse=turned)
            is_last = is_last and len(best) <= size
            del best[size:]
        return SortedWindow(counts, start, best, is_last)


def _page(connection: Connection, positions: list[SortPosition], limit: int) -> RowPage:
    found: list[StoredItem] = []
    taken = 0
    for number, position in enumerate(positions[:limit], start=1):
        one = rows.read_row(connection, position[2])
        if one is not None:  # it may have been replaced by a later one
            found.append(one)
            taken += len(one.data)
        if taken >= PAGE_BYTES and number < len(positions):
            return RowPage(found, _cursor_of(position))
    return RowPage(found, _cursor_of(positions[limit - 1]) if len(positions) > limit else None)


def _cursor_of(position: SortPosition) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def _position_of(cursor: str) -> SortPosition:
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        rank, value, item_id = msgspec.json.decode(packed, type=tuple[int, Any, int])
        if isinstance(value, _VALUES[rank]) and isinstance(value, bool) is (rank == 2):
            return rank, value, item_id
    except (ValueError, KeyError, RecursionError, msgspec.MsgspecError):
        pass
    raise RequestInvalid(
        f"{cursor[:40]!r} is not a cursor of these rows", hint="use `next` of the previous page"
    )
