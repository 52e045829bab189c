"""Rows of a run: filtered, sorted, paged, counted."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from smartspider.core.items.filters import Condition
from smartspider.interfaces.store import StoredItem


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


class Coverage(msgspec.Struct, frozen=True):
    """How many of the rows looked at have a value in a field, and a few of the values."""

    field: str
    filled: int
    rows: int
    examples: list[Any]


class ResultStore(Protocol):
    """1. Pages neither skip nor repeat a row, also while rows are added.
    2. A page in the order of committing looks at a bounded number of rows, whatever the filter. Rows are
       sorted by their values as long as there are not too many of them; else that is `RequestInvalid`.
    3. Paths and values are values, never SQL. A path or a cursor that means nothing is `RequestInvalid`.
    4. `count` looks at no more rows than its bound, and says whether those were all.
    5. No call holds up others for long, however many rows there are and however large they are.
    """

    async def rows(self, query: RowQuery, *, cursor: str | None = None, limit: int = 100) -> RowPage:
        """A page of rows."""

    async def count(self, query: RowQuery, *, at_most: int = 100_000) -> tuple[int, bool]:
        """How many rows there are, and whether all were looked at. Without a condition that costs nothing."""

    async def coverage(self, run_id: int, fields: list[str], *, sample: int = 1_000) -> list[Coverage]:
        """How full the fields are, over the newest rows. Empty texts, lists and objects are no values."""
