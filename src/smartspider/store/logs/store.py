"""The store of log lines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from smartspider.core.errors import NotFound
from smartspider.core.logs import LogLine, StoredLogLine
from smartspider.store import statements
from smartspider.store.database import Connection, Database, row, rows
from smartspider.store.logs.histogram import CountLimits, LogCounts, TimeSpan, count_lines
from smartspider.store.logs.intervals import DISORDER_S, Interval, find_interval
from smartspider.store.logs.terms import (
    LogFilter,
    filter_conditions,
    filter_terms,
    line_terms,
    match_expression,
    term,
    words,
)

SQL = statements.load("logs.sql", __package__)

DELETE_BATCH = 500
KEPT_SHARE = 0.9
"""Share of the budget that is storable when the oldest lines are deleted."""
OVERHEAD = 140
"""Bytes of a line besides its texts."""

MAX_TEXT = 4_000
MAX_URL = 2_000
MAX_FIELDS = 16_000
MAX_NAME = 200

_encode = msgspec.json.Encoder(enc_hook=str).encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class SearchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of what one page of a search reads."""

    lines: int = 2_000
    """Lines read by a search without index terms."""
    entries: int = 50_000
    """Index entries read by a search for several terms: it reads numbers, not lines."""

    def scan_length(self, only: LogFilter) -> int:
        """Return how many numbers a search covers. A search for one term reads only matching lines."""
        terms = len(filter_terms(only))
        if terms == 0:
            return self.lines
        return 1 << 62 if terms == 1 else self.entries


class LogPage(msgspec.Struct, frozen=True):
    """Lines, and the cursor of the next page; None if there are no more. A page may be short, even empty, and
    have a next one.
    """

    lines: list[StoredLogLine]
    next: int | None


class LogStore:
    """1. Lines are numbered in the order they were written; numbers only grow.
    2. A search reads a bounded number of lines, whatever the filter and the size of the log.
    3. Lines are read newest first by `before`, or oldest first by `after`; neither skips nor repeats a
       line.
    4. Over the budget the oldest lines are deleted, more than needed, so that this is rare.
    5. Lines are written in one transaction; a failure to write them never affects what they report.
    6. Lines of a deleted run are deleted, also those that arrive later.
    7. A line of a run belongs to the task of that run. Times are storable, except for lines that waited for
       minutes: these get a later time.
    8. Lines are counted by time and level at a bounded cost. Counts are exact, or marked as estimates.
    """

    def __init__(self, database: Database, limits: SearchLimits = SearchLimits()) -> None:
        self._db, self._limits = database, limits

    async def add(self, lines: Sequence[LogLine]) -> None:
        """Write lines."""
        if lines:
            await self._db.write_concurrently(lambda connection: write(connection, lines, self._db.now()))

    async def before(self, only: LogFilter, *, before: int | None = None, limit: int = 100) -> LogPage:
        """Return lines with numbers smaller than `before`, newest first."""
        scan = self._limits.scan_length(only)
        return await self._db.read(lambda connection: _before(connection, only, before, limit, scan))

    async def after(self, only: LogFilter, *, after: int, limit: int = 100) -> LogPage:
        """Return lines with numbers greater than `after`, oldest first. `next` is the cursor for following
        the log.
        """
        scan = self._limits.scan_length(only)
        return await self._db.read(lambda connection: _after(connection, only, after, limit, scan))

    async def count(self, only: LogFilter, span: TimeSpan, limits: CountLimits = CountLimits()) -> LogCounts:
        """Count the lines of a time by point and level."""
        return await self._db.read(lambda connection: count_lines(connection, only, span, limits))

    async def get(self, number: int) -> StoredLogLine:
        """Return a line; raise `NotFound`."""
        found = await self._db.read(
            lambda connection: _found(
                connection, LogFilter(), Interval(number - 1, number + 1), "ASC LIMIT 1"
            )
        )
        if not found:
            raise NotFound(
                f"there is no log line {number}", hint="it may have been deleted; list the log lines"
            )
        return found[0]

    async def last_id(self) -> int:
        """Return the number of the newest line; 0 before the first."""
        return await self._db.read(_last)

    async def trim(self, budget: int) -> int:
        """Delete the oldest lines beyond a budget in bytes. Return the number of lines."""
        if await self.size() <= budget:
            return 0
        removed = 0
        while step := await self._db.write(_delete_oldest(int(budget * KEPT_SHARE))):
            removed += step
            await asyncio.sleep(0)
        return removed

    async def delete_before(self, moment: float) -> int:
        """Delete lines older than a moment, oldest first. Return the number of lines."""
        removed = 0
        while step := await self._db.write(_delete_older(moment)):
            removed += step
            await asyncio.sleep(0)
        return removed

    async def size(self) -> int:
        """Return the size of all lines in bytes."""
        return await self._db.read(_size)


def delete_run_lines(connection: Connection, run_id: int) -> bool:
    """Delete some lines of a run. Return True while there may be more."""
    connection.execute(SQL.hold_run, (run_id,))
    found = rows(connection, SQL.of_run, (match_expression([term("r", run_id)]), run_id, DELETE_BATCH))
    _remove(connection, found)
    return len(found) == DELETE_BATCH


def write(connection: Connection, lines: Sequence[LogLine], now: float) -> None:
    """Write lines, except those of deleted runs."""
    run_ids = sorted({line.run_id for line in lines if line.run_id is not None})
    found = connection.executemany(SQL.task_of, [(run_id,) for run_id in run_ids])
    tasks: dict[int, int] = dict(found.fetchall())
    added: list[tuple[Any, ...]] = []
    grown = 0
    for line in lines:
        if line.run_id is not None and line.run_id not in tasks:
            continue
        storable = _storable(line, now, line.task_id if line.run_id is None else tasks[line.run_id])
        fields = _fields(line.fields)
        added.append(
            (
                *(
                    storable.at,
                    storable.level,
                    storable.event,
                    storable.task_id,
                    storable.run_id,
                    storable.worker,
                    storable.host,
                ),
                *(storable.url, storable.error, storable.text, fields, line_terms(storable)),
            )
        )
        grown += _bytes(len(storable.text.encode()), len(fields.encode()), len((storable.url or "").encode()))
    connection.executemany(SQL.add, added)
    connection.execute(SQL.grow, (grown,))


def _storable(line: LogLine, now: float, task_id: int | None) -> LogLine:
    """Return a line of bounded length, with storable text and a time in order."""
    return LogLine(
        at=min(max(line.at, now - DISORDER_S), now),
        level=line.level,
        event=_text(line.event, MAX_NAME),
        text=_text(line.text, MAX_TEXT),
        worker=_text(line.worker, MAX_NAME),
        task_id=task_id,
        run_id=line.run_id,
        host=line.host and _text(line.host, MAX_NAME),
        url=line.url and storable_url(line.url),
        error=line.error and _text(line.error, MAX_NAME),
    )


def _text(text: str, length: int) -> str:
    cut = text if len(text) <= length else f"{text[: length - 1]}…"
    storable = cut.replace("\0", "\ufffd")  # not every database stores it
    return storable if storable.isascii() else storable.encode("utf-8", "replace").decode()


def storable_url(url: str) -> str:
    """Return a URL as lines have it."""
    return _text(url, MAX_URL)


def _fields(fields: dict[str, Any]) -> str:
    try:
        encoded = _encode(fields).decode()
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        encoded = json.dumps({"unreadable": _text(ascii(fields), MAX_TEXT)})
    if len(encoded) <= MAX_FIELDS:
        return encoded
    return json.dumps({"cut": encoded[:MAX_TEXT]})


def _bytes(text: int, fields: int, url: int) -> int:
    """Return the size of a line; indexed texts count twice."""
    return OVERHEAD + 2 * text + fields + 2 * url


def _before(connection: Connection, only: LogFilter, before: int | None, limit: int, scan: int) -> LogPage:
    whole = find_interval(connection, only)
    if whole is None or _matches_nothing(only):
        return LogPage([], None)
    below = whole.below if before is None else min(before, whole.below)
    above = max(whole.above, below - 1 - scan)
    found = _found(connection, only, Interval(above, below), f"DESC LIMIT {limit + 1:d}")
    if len(found) > limit:
        return LogPage(found[:limit], found[limit - 1].id)
    return LogPage(found, above + 1 if above > whole.above else None)


def _after(connection: Connection, only: LogFilter, after: int, limit: int, scan: int) -> LogPage:
    whole = find_interval(connection, only)
    last = _last(connection)
    if whole is None or _matches_nothing(only):
        return LogPage([], max(after, last))
    above = max(after, whole.above)
    below = min(whole.below, above + 1 + scan)
    found = _found(connection, only, Interval(above, below), f"ASC LIMIT {limit:d}")
    if len(found) == limit:
        return LogPage(found, found[-1].id)
    return LogPage(found, below - 1 if below < whole.below else max(after, last))


def _matches_nothing(only: LogFilter) -> bool:
    """Return whether the filter asks for a text without any word."""
    return only.text is not None and not words(only.text)


def _found(connection: Connection, only: LogFilter, within: Interval, order: str) -> list[StoredLogLine]:
    terms = filter_terms(only)
    sql, values = search_sql(only, order)
    bound = (*within, match_expression(terms)) if terms else within
    return [_line(found) for found in rows(connection, sql, (*bound, *values))]


def search_sql(only: LogFilter, order: str) -> tuple[str, tuple[Any, ...]]:
    """Return the statement for a filter, and the values of its conditions."""
    conditions, values = filter_conditions(only)
    return f"{SQL.by_terms if filter_terms(only) else SQL.all}{conditions} ORDER BY 1 {order}", values


def _line(found: tuple[Any, ...]) -> StoredLogLine:
    number, at, level, event, text, worker, task_id, run_id, host, url, error, fields = found
    return StoredLogLine(
        number,
        LogLine(at, level, event, text, worker, task_id, run_id, host, url, error, _decode(fields)),
    )


def _last(connection: Connection) -> int:
    found = row(connection, SQL.last)
    return found[0] if found else 0


def _size(connection: Connection) -> int:
    found = row(connection, SQL.size)
    return found[0] if found else 0


def _delete_oldest(storable: int) -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        if _size(connection) <= storable:
            return 0
        found = rows(connection, SQL.oldest, (DELETE_BATCH,))
        _remove(connection, found)
        if not found:
            connection.execute(SQL.grow, (-_size(connection),))
        return len(found)

    return work


def _delete_older(moment: float) -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        found = rows(connection, SQL.older, (DELETE_BATCH, moment))
        _remove(connection, found)
        return len(found)

    return work


def _remove(connection: Connection, found: Sequence[tuple[Any, ...]]) -> None:
    if not found:
        return
    connection.executemany(SQL.remove, [(number, number) for number, *_ in found])
    freed = sum(_bytes(text, fields, url or 0) for _, text, fields, url in found)
    connection.execute(SQL.grow, (-freed,))
