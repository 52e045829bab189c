"""The numbers that lines of a time can have, found by binary search: lines are almost in order of time."""

from __future__ import annotations

from typing import NamedTuple

from smartspider.store import statements
from smartspider.store.database import Connection, row
from smartspider.store.logs.terms import LogFilter

SQL = statements.load("logs.sql", __package__)

DISORDER_S = 300.0
"""Longest delay between a line and its write. A line that waited longer gets a later time."""


class Interval(NamedTuple):
    """Numbers of lines, ends excluded."""

    above: int
    below: int


def find_interval(connection: Connection, only: LogFilter) -> Interval | None:
    """Return the numbers that lines of the requested time can have."""
    first, last = row(connection, SQL.ends) or (None, None)
    if first is None or last is None:
        return None
    above, below = first - 1, last + 1
    if only.since is not None:
        above = _first_from(connection, only.since - DISORDER_S, first, last) - 1
    if only.until is not None:
        below = _first_from(connection, only.until + DISORDER_S, first, last)
    return Interval(above, below)


def _first_from(connection: Connection, moment: float, first: int, last: int) -> int:
    """Return about the first line from a moment on."""
    low, high = first, last + 1
    while low < high:
        middle = (low + high) // 2
        found = row(connection, SQL.line_from, (middle,))
        if found is None or found[1] >= moment:
            high = middle
        else:
            low = found[0] + 1
    return low
