"""Lists of runs and requests, each read by an index. All functions run inside a transaction."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.frontier.cause import CauseCode
from smartspider.core.frontier.verdict import UrlState
from smartspider.core.runs.run import Run, RunState, end_id, first_id
from smartspider.store.database import Connection, row, rows
from smartspider.store.patterns import like_pattern
from smartspider.store.runs import lifecycle

SQL = lifecycle.SQL

PAST_ALL = (1 << 63) - 1
ALL = -1
"""No limit."""
SCANNED = 20_000
"""Requests that one call reads, whatever its filter."""


class UrlRow(msgspec.Struct, frozen=True):
    """A request in a list."""

    id: int
    url: str
    state: UrlState
    reason: str
    cause: CauseCode | None
    status: int | None
    page: str
    depth: int
    attempts: int
    items: int
    found_at: float
    closed_at: float | None


class PageFilter(msgspec.Struct, frozen=True):
    """Conditions that all must hold."""

    state: UrlState | None = None
    cause: CauseCode | None = None
    host: str | None = None
    status: int | None = None
    page: str | None = None
    """The page type."""
    q: str | None = None
    """Part of the URL; upper and lower case are the same."""


class PageList(msgspec.Struct, frozen=True):
    """Requests that match. `next` is the id to go on after; None: there are no more."""

    rows: list[UrlRow]
    next: int | None


class FailedRequest(msgspec.Struct, frozen=True):
    """A request that failed."""

    url: str
    state: UrlState
    reason: str
    id: int = 0
    cause: CauseCode = "other"


class RecentRun(msgspec.Struct, frozen=True):
    """The outcome of a run in the history of its task."""

    task_id: int
    id: int
    state: RunState
    items: int
    failed: int
    created_at: float
    finished_at: float | None


def recent_runs(connection: Connection, task_ids: Sequence[int], limit: int) -> dict[int, list[RecentRun]]:
    """Return the newest runs of tasks, newest first, by task."""
    by_task: dict[int, list[RecentRun]] = {task_id: [] for task_id in task_ids}
    for found in connection.executemany(SQL.recent, [(task_id, limit) for task_id in by_task]):
        by_task[found[0]].append(RecentRun(*found))
    for runs in by_task.values():
        runs.sort(key=lambda run: run.id, reverse=True)
    return by_task


def run_ids(
    connection: Connection,
    task_id: int | None,
    states: Sequence[RunState],
    before: int | None,
    limit: int,
) -> list[int]:
    """Return ids of runs, newest first; the lists of several states are merged."""
    page = (PAST_ALL if before is None else before, limit)
    if not states and task_id is None:
        return _ids(rows(connection, SQL.runs, page))
    if not states:
        return _ids(rows(connection, SQL.runs_of_task, (task_id, *page)))
    found = [
        rows(connection, SQL.runs_in, (state, *page))
        if task_id is None
        else rows(connection, SQL.runs_of_task_in, (task_id, state, *page))
        for state in dict.fromkeys(states)
    ]
    return heapq.nlargest(limit, (run_id for one in found for run_id in _ids(one)))


def named_run_ids(connection: Connection, task_name: str | None, limit: int | None) -> list[int]:
    """Return ids of the runs of tasks with a name, or of all, newest first."""
    page = (PAST_ALL, ALL if limit is None else limit)
    if task_name is None:
        return _ids(rows(connection, SQL.runs, page))
    return _ids(rows(connection, SQL.runs_named, (task_name, *page)))


def live_runs(connection: Connection) -> list[Run]:
    """Return queued, running and stopping runs, oldest first."""
    return read(connection, _ids(rows(connection, SQL.live_runs)))


def read(connection: Connection, run_ids: Sequence[int]) -> list[Run]:
    """Return runs by id."""
    return [lifecycle.read_run(connection, run_id) for run_id in run_ids]


def pages(  # noqa: PLR0917 - the filter, the place and the bounds of a list
    connection: Connection, run_id: int, only: PageFilter, after: int, limit: int, scan: int = SCANNED
) -> PageList:
    """Return requests of a run in the order they were found, among the next `scan`: there may be fewer than
    `limit` although there are more.
    """
    host_id = None
    if only.host is not None:
        found = row(connection, SQL.host_id, (only.host,))
        if found is None:
            return PageList([], None)
        host_id = found[0]
    statement, place = _place(run_id, only)
    pattern = None if only.q is None else like_pattern(only.q)
    after = max(after, first_id(run_id))
    wanted = (host_id, only.status, only.page, pattern, after, scan, limit + 1, 0)
    matching = [UrlRow(*found) for found in rows(connection, statement, (*wanted, *place))]
    if len(matching) > limit:
        return PageList(matching[:limit], matching[limit - 1].id)
    last = (None, None, None, None, after, scan, 1, scan - 1)
    end = row(connection, statement, (*last, *place[:2], *([None] * len(place[2:]))))
    return PageList(matching, None if end is None else end[0])


def _place(run_id: int, only: PageFilter) -> tuple[str, tuple[object, ...]]:
    """Return the statement that reads the fewest requests, and its own values."""
    if only.cause is not None:
        return SQL.pages_with_cause, (run_id, only.cause, only.state)
    if only.state is None:
        return SQL.pages, (end_id(run_id),)
    if only.state == "open":
        return SQL.pages_open, (run_id,)
    return SQL.pages_closed, (run_id, only.state)


def failures(connection: Connection, run_id: int, after: int, limit: int) -> list[FailedRequest]:
    """Return failed requests in the order they were found."""
    dead = pages(connection, run_id, PageFilter("dead"), after, limit)
    broken = pages(connection, run_id, PageFilter("broken"), after, limit)
    found = heapq.nsmallest(limit, [*dead.rows, *broken.rows], key=lambda page: page.id)
    return [
        FailedRequest(page.url, page.state, page.reason, page.id, page.cause or "other") for page in found
    ]


def _ids(found: list[tuple[Any, ...]]) -> list[int]:
    return [run_id for (run_id,) in found]
