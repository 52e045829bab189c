"""Ids and cursors as they come, and lists a page at a time."""

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


_FARTHEST_S = 1e12
_HINT = "write it as 2026-01-31T12:00:00Z, or as seconds since 1970"


def read_moment(name: str, text: str | None) -> float | None:
    """ISO 8601 (UTC unless it says otherwise), or seconds since 1970; raises `RequestInvalid`."""
    if text is None:
        return None
    try:
        moment = _calendar(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        moment = _seconds(text)
    if not abs(moment) <= _FARTHEST_S:  # nor is what is no number
        message = f"{text[:40]!r} is not a moment"
        raise RequestInvalid(f"{name}: {message}", (Problem(name, message, _HINT),), hint=_HINT)
    return moment


def _calendar(text: str) -> datetime:
    try:
        return parse_iso_datetime(text)
    except ValueError:
        day, _, offset = text.rpartition(" ")  # a plus sign in a query is read as a space
        return parse_iso_datetime(f"{day}+{offset}")


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


HINT = "leave out zero bytes and what is not UTF-8"


def check_text(path: str, text: str) -> None:
    """Raises `RequestInvalid` for a text that cannot be kept; `path` is what the text is sent as."""
    if "\0" in text:
        reason = "holds a zero byte"
    elif any("\ud800" <= character <= "\udfff" for character in text):
        reason = "holds half a character"
    else:
        return
    problem = Problem(path, f"the {path} {reason}", HINT)
    raise RequestInvalid(problem.message, (problem,), hint=HINT)
