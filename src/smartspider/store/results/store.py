"""The store of results. Conditions are not SQL, so that they mean the same in every database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from smartspider.core.errors import RequestInvalid
from smartspider.core.items.filters import Condition, RowFilter, parse_path, row_filter, row_reader
from smartspider.core.pages.nesting import call_deep
from smartspider.core.runs.run import run_of
from smartspider.store.database import Connection, Database
from smartspider.store.results import rows as stored_rows
from smartspider.store.results.files import RunFile, find_file, list_files
from smartspider.store.results.rows import BATCH_ROWS, RowPage, RowQuery, StoredItem
from smartspider.store.results.sorting import PAGE_BYTES, WINDOW_SIZE, SortedRows

ROWS_SCANNED = 2_000
"""Rows that a page with a filter reads before it returns a cursor."""
EXAMPLES = 5
EXAMPLE_CHARS = 200


class FieldFill(msgspec.Struct, frozen=True):
    """The number of sampled rows with a value in a field, and a few of the values."""

    field: str
    filled: int
    rows: int
    examples: list[Any]


class ResultStore:
    """1. Pages neither skip nor repeat a row, also while rows are added.
    2. A page in commit order reads a bounded number of rows, whatever the filter. Sorting by value is
       possible up to a number of rows; beyond it raises `RequestInvalid`.
    3. Paths and values are never part of SQL. An invalid path or cursor raises `RequestInvalid`.
    4. `count` reads no more rows than its bound, and says whether those were all.
    5. No call blocks others for long, whatever the number and size of rows.
    6. A row is found by its id.
    """

    def __init__(self, database: Database, *, window_size: int = WINDOW_SIZE) -> None:
        self._db = database
        self._sorted = SortedRows(database, window_size)

    async def rows(self, query: RowQuery, *, cursor: str | None = None, limit: int = 100) -> RowPage:
        """Return a page of rows."""
        if query.sort is not None:
            return await self._sorted.page(query, cursor, limit)
        page = _Page(query, None if cursor is None else _number(cursor, query.run_id), limit)
        while await self._db.read(page.add_batch):  # noqa: ASYNC110 - others have a turn, no waiting
            await asyncio.sleep(0)
        return RowPage(page.found, None if page.next is None else str(page.next))

    async def row(self, row_id: int) -> StoredItem | None:
        """Return a row by its id; None if there is none."""
        return await self._db.read(lambda connection: stored_rows.read_row(connection, row_id))

    async def count(self, query: RowQuery, *, at_most: int = 100_000) -> tuple[int, bool]:
        """Return the number of rows, and whether all were read. Without a condition
        nothing needs to be read.
        """
        fits = _encoded_test(query.where)
        counts = await self._db.read(lambda connection: stored_rows.read_counts(connection, query.run_id))
        if fits is None:
            return counts.items, True
        count, is_last = 0, False
        async for batch in stored_rows.batches(self._db, query.run_id, at_most):
            count += sum(fits(data) for _, _, data in batch.rows)
            is_last = batch.is_last
        return count, is_last or counts.items <= at_most

    async def files(self, run_id: int, *, after: bytes = b"", limit: int = 100) -> list[RunFile]:
        """Return files that a run downloaded, after a fingerprint."""
        return await self._db.read(lambda connection: list_files(connection, run_id, after, limit))

    async def file(self, run_id: int, fingerprint: bytes) -> RunFile | None:
        """Return a file that a run downloaded, by the fingerprint of its request."""
        return await self._db.read(lambda connection: find_file(connection, run_id, fingerprint))

    async def field_fill(self, run_id: int, fields: list[str], *, sample: int = 1_000) -> list[FieldFill]:
        """Return how many of the newest rows have a value in each field. Empty strings, lists and objects are
        no values.
        """
        rows = 0
        read = row_reader([(field,) for field in fields])
        filled = dict.fromkeys(fields, 0)
        examples: dict[str, dict[bytes, Any]] = {field: {} for field in fields}
        async for batch in stored_rows.batches(self._db, run_id, sample, is_descending=True):
            rows += len(batch.rows)
            for _, _, data in batch.rows:
                item = read(data)
                for field in fields:
                    value = item.get(field)
                    if value is None or value in ("", [], {}):
                        continue
                    filled[field] += 1
                    if len(examples[field]) < EXAMPLES:
                        example = _shortened(value)
                        examples[field].setdefault(msgspec.json.encode(example), example)
        return [FieldFill(field, filled[field], rows, list(examples[field].values())) for field in filled]


class _Page:
    """The rows found so far for a page in commit order."""

    def __init__(self, query: RowQuery, position: int | None, limit: int) -> None:
        self._query = query
        self._fits = _encoded_test(query.where)
        self._place = position
        self._limit = limit
        self._looked = self._taken = 0
        self.found: list[StoredItem] = []
        self.next: int | None = None

    def add_batch(self, connection: Connection) -> bool:
        """Read the next rows. Return True while the page is neither full nor at its end."""
        want = BATCH_ROWS if self._fits else self._limit + 1 - len(self.found)
        query = self._query
        batch = stored_rows.read_batch(
            connection, query.run_id, self._place, want, is_descending=query.is_descending
        )
        for found in batch.rows:
            if self._fits is None or self._fits(found[2]):
                if len(self.found) == self._limit or self._taken >= PAGE_BYTES:
                    self.next = self.found[-1].id
                    return False
                self.found.append(stored_rows.stored_item(connection, found))
                self._taken += len(found[2])
            self._place = found[0]
        self._looked += len(batch.rows)
        if batch.is_last:
            return False
        if self._looked >= ROWS_SCANNED:
            self.next = self._place
            return False
        return True


def _encoded_test(conditions: Sequence[Condition]) -> Callable[[str], bool] | None:
    """Return `row_filter` for encoded rows."""
    fits: RowFilter | None = row_filter(conditions)
    if fits is None:
        return None
    read = row_reader([parse_path(condition.path) for condition in conditions])
    return lambda data: fits(read(data))


def _number(cursor: str, run_id: int) -> int:
    number = int(cursor) if cursor.isascii() and cursor.isdecimal() and len(cursor) < 19 else -1
    if run_of(number) != run_id:
        raise RequestInvalid(
            f"{cursor[:40]!r} is not a cursor of these rows", hint="use `next` of the previous page"
        )
    return number


def _shortened(value: Any) -> Any:
    """Return a value, shortened if it is long."""
    if isinstance(value, str):
        return value if len(value) <= EXAMPLE_CHARS else f"{value[:EXAMPLE_CHARS]}…"
    text = call_deep(msgspec.json.encode, value).decode()
    return value if len(text) <= EXAMPLE_CHARS else f"{text[:EXAMPLE_CHARS]}…"
