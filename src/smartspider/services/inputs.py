"""Parse ids, cursors, times and texts of callers, and build pages of lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from smartspider.core.datetimes import parse_iso_datetime
from smartspider.core.errors import NotFound, Problem, RequestInvalid
from smartspider.views.listed import Listed

T = TypeVar("T")
V = TypeVar("V")


def is_id(text: str) -> bool:
    """True if a text may be a numeric id."""
    return text.isascii() and text.isdecimal() and len(text) <= 18


def parse_id(id_: str, what: str) -> int:
    """Return the number of an id; raise `NotFound` for anything else."""
    if not is_id(id_):
        hint = f"ids are numbers; list the {what}s to find it"
        raise NotFound(f"there is no {what} {id_[:40]!r}", hint=hint)
    return int(id_)


def parse_cursor(cursor: str | None) -> int | None:
    """Return the number that a cursor holds; None for the first page."""
    if cursor is None:
        return None
    if not is_id(cursor):
        raise _invalid_cursor(cursor)
    return int(cursor)


def parse_time_cursor(cursor: str | None) -> float | None:
    """Return the time that a cursor holds; None for the first page."""
    if cursor is None:
        return None
    try:
        moment = float(cursor)
    except ValueError:
        moment = math.nan
    if not math.isfinite(moment):
        raise _invalid_cursor(cursor)
    return moment


def to_page(
    found: Sequence[T], limit: int, cursor_of: Callable[[T], object], view: Callable[[T], V]
) -> Listed[V]:
    """Return a page of a list; `found` has more than `limit` elements if there is another page."""
    shown = found[:limit]
    next_ = str(cursor_of(shown[-1])) if len(found) > limit else None
    return Listed([view(one) for one in shown], next_)


def _invalid_cursor(cursor: str) -> RequestInvalid:
    return RequestInvalid(
        f"{cursor[:40]!r} is not a cursor of this list", hint="use `next` of the previous page"
    )


_MAX_TIME_S = 1e12
_TIME_HINT = "write it as 2026-01-31T12:00:00Z, or as seconds since 1970"


def parse_time(name: str, text: str | None) -> float | None:
    """Parse ISO 8601 (UTC by default) or seconds since 1970; raise `RequestInvalid`."""
    if text is None:
        return None
    try:
        moment = _parse_date(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        moment = _parse_seconds(text)
    if not abs(moment) <= _MAX_TIME_S:  # also refuses NaN
        message = f"{text[:40]!r} is not a time"
        raise RequestInvalid(f"{name}: {message}", (Problem(name, message, _TIME_HINT),), hint=_TIME_HINT)
    return moment


def _parse_date(text: str) -> datetime:
    try:
        return parse_iso_datetime(text)
    except ValueError:
        day, _, offset = text.rpartition(" ")  # a plus sign in a query is read as a space
        return parse_iso_datetime(f"{day}+{offset}")


def _parse_seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


_TEXT_HINT = "remove zero bytes and characters that are not valid UTF-8"


def check_text(path: str, text: str) -> None:
    """Raise `RequestInvalid` for a text that cannot be stored; `path` is its parameter."""
    if "\0" in text:
        reason = "contains a zero byte"
    elif any("\ud800" <= character <= "\udfff" for character in text):
        reason = "contains a lone surrogate"
    else:
        return
    problem = Problem(path, f"the {path} {reason}", _TEXT_HINT)
    raise RequestInvalid(problem.message, (problem,), hint=_TEXT_HINT)
