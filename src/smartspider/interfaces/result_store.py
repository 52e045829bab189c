"""Rows of a run: filtered, sorted, paged, counted."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

from smartspider.interfaces.store import StoredItem

Operator = Literal["eq", "ne", "lt", "le", "gt", "ge", "contains", "exists"]


class Condition(msgspec.Struct, frozen=True):
    """What a value must be. `path` is a field, or a JSON path into it: `price`, `tags[0]`, `seller.name`."""

    path: str
    operator: Operator
    value: Any = None


class RowQuery(msgspec.Struct, frozen=True):
    """Which rows of a run, and in which order; without `sort` the order they were committed in."""

    run_id: int
    where: tuple[Condition, ...] = ()
    sort: str | None = None
    is_descending: bool = False


class RowPage(msgspec.Struct, frozen=True):
    """Rows, and where to go on; None: there are no more. A filtered page may be short and still go on."""

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
    2. A page in the order of committing looks at a bounded number of rows, whatever the filter.
    3. Paths and values are values, never SQL.
    4. `count` says whether it counted all rows or stopped at its bound.
    """

    async def rows(self, query: RowQuery, *, cursor: str | None = None, limit: int = 100) -> RowPage:
        """A page of rows."""

    async def count(self, query: RowQuery, *, at_most: int = 100_000) -> tuple[int, bool]:
        """How many rows there are, and whether that is all of them."""

    async def coverage(self, run_id: int, fields: list[str], *, sample: int = 10_000) -> list[Coverage]:
        """How full the fields are, over the newest rows."""
