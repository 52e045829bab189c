"""Counts of log lines over time, by level. The cost is bounded, whatever the filter and the size of the log.

Up to `exact` lines are read and counted. If there are more in the time, warnings and errors are still counted
by their index terms while they are few, and the others are estimated from a sample of the lines: blocks of
consecutive numbers, evenly spread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from smartspider.core.logs import LEVELS
from smartspider.store import statements
from smartspider.store.database import Connection, rows
from smartspider.store.logs.intervals import Interval, find_interval
from smartspider.store.logs.terms import LogFilter, filter_conditions, filter_terms, match_expression, words

SQL = statements.load("logs.sql", __package__)


class CountLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of what a histogram reads."""

    exact: int = 8_000
    """Lines that are read to count them all."""
    rare: int = 3_000
    """Lines of one level that are read to count them all."""
    blocks: tuple[int, int] = (2_000, 4)
    """Blocks of the sample, and the lines of each."""
    text_blocks: tuple[int, int] = (300, 20)
    """The same for filters by text: each block is a search of the index."""


class TimeSpan(msgspec.Struct, frozen=True):
    """A time that is divided into points."""

    start: float
    end: float
    points: int

    @property
    def step_s(self) -> float:
        """The length of a point."""
        return (self.end - self.start) / self.points

    def place(self, at: float) -> int:
        """Return the point of a moment."""
        return min(max(int((at - self.start) / self.step_s), 0), self.points - 1)


class LogCounts(msgspec.Struct, frozen=True):
    """The number of lines by level, for each point. If `is_estimated`, some are scaled up from a sample."""

    points: list[dict[int, int]]
    is_estimated: bool = False


class _Tally:
    """Lines counted by point and level."""

    def __init__(self, span: TimeSpan) -> None:
        self._span = span
        self._points: list[dict[int, float]] = [{} for _ in range(span.points)]

    def add(self, found: Iterable[Any], weight: float = 1.0) -> None:
        """Count lines, each as so many."""
        place, points = self._span.place, self._points
        for at, level in found:
            point = points[place(at)]
            point[level] = point.get(level, 0.0) + weight

    def result(self, *, is_estimated: bool) -> LogCounts:
        """Return the counts as whole numbers."""
        counts = [{level: round(count) for level, count in point.items()} for point in self._points]
        return LogCounts(counts, is_estimated)


def count_lines(connection: Connection, only: LogFilter, span: TimeSpan, limits: CountLimits) -> LogCounts:
    """Count the lines of a time that match a filter."""
    only = msgspec.structs.replace(only, since=span.start, until=span.end)
    tally, within = _Tally(span), find_interval(connection, only)
    if within is None or (only.text is not None and not words(only.text)):
        return tally.result(is_estimated=False)
    length = within.below - within.above - 1
    has_one_term = len(filter_terms(only)) == 1 and not only.levels  # it has no lines that do not match
    if length <= limits.exact or has_one_term:
        found = _times(connection, only, within, limits.exact + 1)
        if len(found) <= limits.exact:
            tally.add(found)
            return tally.result(is_estimated=False)
    common = _count_rare(connection, only, within, limits, tally)
    if common:
        blocks, block = limits.blocks if only.text is None else limits.text_blocks
        stride = max(length // blocks, block)
        found = _sample(connection, msgspec.structs.replace(only, levels=common), within, stride, block)
        tally.add(found, stride / block)
    return tally.result(is_estimated=bool(common))


def _count_rare(
    connection: Connection, only: LogFilter, within: Interval, limits: CountLimits, tally: _Tally
) -> tuple[int, ...]:
    """Count the levels with few lines, the highest first. Return those that remain."""
    remaining = [
        level
        for level in sorted(LEVELS.values())
        if (only.level is None or level >= only.level) and (not only.levels or level in only.levels)
    ]
    while remaining and remaining[-1] >= LEVELS["warning"]:
        rare = msgspec.structs.replace(only, level=None, levels=(remaining[-1],))
        if len(filter_terms(rare)) != 1:  # an index search for several terms is not bounded by its result
            break
        # The term stands for this level and those above, which are counted already: few in any case.
        found = _times(connection, rare, within, limits.rare + 1)
        if len(found) > limits.rare:
            break
        tally.add(found)
        remaining.pop()
    return tuple(remaining)


def _times(connection: Connection, only: LogFilter, within: Interval, limit: int) -> list[Any]:
    """Return time and level of lines, as many as a limit allows."""
    sql, values = times_sql(only, limit)
    terms = filter_terms(only)
    bound = (*within, match_expression(terms)) if terms else within
    return rows(connection, sql, (*bound, *values))


def times_sql(only: LogFilter, limit: int) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that reads time and level of lines, and the values of its conditions."""
    conditions, values = filter_conditions(only)
    return f"{SQL.times_by_terms if filter_terms(only) else SQL.times}{conditions} LIMIT {limit:d}", values


def _sample(connection: Connection, only: LogFilter, within: Interval, stride: int, block: int) -> list[Any]:
    """Return time and level of the matching lines among the first `block` of each `stride` numbers."""
    sql, values = sample_sql(only)
    first = within.above + 1
    if only.text is None:
        return rows(
            connection, sql, (stride, block, stride - block + 1, within.below - first, first, *values)
        )
    terms = match_expression(words(only.text))
    return rows(connection, sql, (first, stride, stride, within.below, block, terms, *values))


def sample_sql(only: LogFilter) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that reads time and level of the lines of blocks, and the values of its
    conditions.
    """
    conditions, values = filter_conditions(only)
    return f"{SQL.sample if only.text is None else SQL.sample_by_terms}{conditions}", values
