"""Lists of runs and requests, each read by an index. All functions run inside a transaction."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.frontier.verdict import UrlState
from smartspider.core.runs.run import Run, RunState, end_id, first_id
from smartspider.store.database import Connection, rows
from smartspider.store.runs import lifecycle

SQL = lifecycle.SQL

PAST_ALL = (1 << 63) - 1
ALL = -1
"""No limit."""


class UrlRow(msgspec.Struct, frozen=True):
    """A request in a list."""

    id: int
    url: str
    state: UrlState
    reason: str
    status: int | None
    page: str
    depth: int
    attempts: int
    items: int
    found_at: float
    closed_at: float | None


class FailedRequest(msgspec.Struct, frozen=True):
    """A request that failed."""

    url: str
    state: UrlState
    reason: str
    id: int = 0


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


def pages(
    connection: Connection, run_id: int, state: UrlState | None, after: int, limit: int
) -> list[UrlRow]:
    """Return requests of a run in the order they were found, in one state or all."""
    if state is None:
        bounds = (max(after, first_id(run_id)), end_id(run_id), limit)
        return [UrlRow(*found) for found in rows(connection, SQL.pages, bounds)]
    if state == "open":
        return [UrlRow(*found) for found in rows(connection, SQL.pages_open, (run_id, after, limit))]
    return [UrlRow(*found) for found in rows(connection, SQL.pages_closed, (run_id, state, after, limit))]


def failures(connection: Connection, run_id: int, after: int, limit: int) -> list[FailedRequest]:
    """Return failed requests in the order they were found."""
    dead = pages(connection, run_id, "dead", after, limit)
    broken = pages(connection, run_id, "broken", after, limit)
    found = heapq.nsmallest(limit, [*dead, *broken], key=lambda page: page.id)
    return [FailedRequest(page.url, page.state, page.reason, page.id) for page in found]


def _ids(found: list[tuple[Any, ...]]) -> list[int]:
    return [run_id for (run_id,) in found]
