"""Ids and cursors as they come, and lists a page at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.views.listed import Listed

T = TypeVar("T")
V = TypeVar("V")


def is_number(text: str) -> bool:
    """Whether a text may be the number of something kept."""
    return text.isascii() and text.isdecimal() and len(text) <= 18


def number(id_: str, what: str) -> int:
    """The number behind an id; what is no number belongs to nothing."""
    if not is_number(id_):
        hint = f"ids are numbers; the list of {what}s shows those there are"
        raise NotFound(f"there is no {what} {id_[:40]!r}", hint=hint)
    return int(id_)


def place_of(cursor: str | None) -> int | None:
    """The number that a cursor is, as most are; None: at the beginning."""
    if cursor is None:
        return None
    if not is_number(cursor):
        raise _no_cursor(cursor)
    return int(cursor)


def moment_of(cursor: str | None) -> float | None:
    """The moment that a cursor is, where a list has one entry at each; None: at the beginning."""
    if cursor is None:
        return None
    try:
        moment = float(cursor)
    except ValueError:
        moment = math.nan
    if not math.isfinite(moment):
        raise _no_cursor(cursor)
    return moment


def page_of(
    found: Sequence[T], limit: int, cursor_of: Callable[[T], object], view: Callable[[T], V]
) -> Listed[V]:
    """A page of what was found; `found` has one more than `limit` when there is a further page."""
    shown = found[:limit]
    next_ = str(cursor_of(shown[-1])) if len(found) > limit else None
    return Listed([view(one) for one in shown], next_)


def _no_cursor(cursor: str) -> RequestInvalid:
    return RequestInvalid(
        f"{cursor[:40]!r} is not a cursor of this list", hint="use `next` of the page before"
    )
