"""Lists a page at a time: `limit` and `cursor` in, `items` and `next` out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from smartspider.core.errors import TaskInvalid
from smartspider.views.listed import Listed

MAX_LIMIT = 1000

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=500, description="`next` of the page before.")]

T = TypeVar("T")
V = TypeVar("V")


def number_of(cursor: str | None) -> int | None:
    """A cursor that is a number, as most are."""
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 18:
        raise TaskInvalid(
            f"{cursor[:40]!r} is not a cursor of this list", hint="use `next` of the page before"
        )
    return int(cursor)


def listed(
    found: Sequence[T], limit: int, cursor_of: Callable[[T], object], view: Callable[[T], V]
) -> Listed[V]:
    """A page of what was found; `found` has one more than `limit` when there is a further page."""
    shown = found[:limit]
    next_ = str(cursor_of(shown[-1])) if len(found) > limit else None
    return Listed([view(one) for one in shown], next_)
