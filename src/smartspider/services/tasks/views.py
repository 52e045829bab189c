"""Views of tasks and their versions. Secrets are masked for principals who may not change the task."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from smartspider.core.access import Principal
from smartspider.core.datetimes import format_time
from smartspider.core.errors import Problem
from smartspider.core.tasks import TaskRecord, TaskVersion
from smartspider.installation.installation import Installation
from smartspider.services.inputs import parse_cursor, to_page
from smartspider.services.runs.lookup import newest_run
from smartspider.services.tasks.confidentiality import sees_secrets
from smartspider.services.tasks.masking import mask_changes, mask_spec
from smartspider.services.tasks.spec_diff import SpecChange
from smartspider.services.tasks.tasks import Applied, Revision, history, revision
from smartspider.store.runs.listing import RecentRun
from smartspider.store.tasks import TaskFilter, TaskStore
from smartspider.views.arguments import TaskArguments
from smartspider.views.listed import Listed
from smartspider.views.problem import wrongs
from smartspider.views.tasks import (
    ChangeView,
    NewestRun,
    RecentRunView,
    TaskLine,
    TaskSaved,
    TaskView,
    VersionLine,
    VersionView,
)


async def list_tasks(
    installation: Installation, wanted: TaskArguments, *, cursor: str | None, limit: int
) -> Listed[TaskLine]:
    """List tasks that match, by default in the order of creation, with `name` by name."""
    prefix = wanted.get("name") or ""
    order = wanted.get("sort") or ("name" if prefix else "created")
    only = TaskFilter(prefix, wanted.get("q") or "", wanted.get("owner"), wanted.get("state"))
    is_by_name = order.endswith("name")
    after = cursor if is_by_name else parse_cursor(cursor)
    found = await installation.tasks.find(only, order, after=after, limit=limit + 1)
    lines = {line.id: line for line in await task_lines(installation, found[:limit])}
    return to_page(
        found, limit, lambda task: task.name if is_by_name else task.id, lambda task: lines[str(task.id)]
    )


async def task_lines(installation: Installation, found: Sequence[TaskRecord]) -> list[TaskLine]:
    """Return the views of tasks in a list, with their newest runs and next due times."""
    ids = [task.id for task in found]
    recent = await installation.store.recent_runs(ids)
    due = await installation.schedules.next_times(ids)
    return [
        TaskLine(
            *_head(task),
            recent=[recent_view(run) for run in reversed(recent[task.id])],
            next_fire_at=format_time(due.get(task.id)),
        )
        for task in found
    ]


def recent_view(run: RecentRun) -> RecentRunView:
    """Return the view of a run in the history of its task."""
    return RecentRunView(
        str(run.id), run.state, run.items, run.failed, format_time(run.finished_at or run.created_at)
    )


async def show(installation: Installation, principal: Principal, task: TaskRecord) -> TaskView:
    """Return a task with its newest run; secrets are masked unless the principal may change the task."""
    version = await installation.tasks.version(task.id, task.version)
    run = await newest_run(installation.store, task.id)
    return TaskView(
        *_head(task),
        author=version.author,
        note=version.note,
        spec_hash=version.spec_hash,
        spec=_spec(version, in_full=sees_secrets(principal, task.owner)),
        newest_run=None if run is None else NewestRun(str(run.id), run.state, run.reason),
    )


async def list_versions(
    tasks: TaskStore, principal: Principal, task: TaskRecord, *, cursor: str | None, limit: int
) -> Listed[VersionLine]:
    """List versions of a task with their changes, newest first."""
    found = await history(tasks, task, before=parse_cursor(cursor), limit=limit + 1)
    shown = partial(_version_line, task, in_full=sees_secrets(principal, task.owner))
    return to_page(found, limit, lambda one: one.version.number, shown)


async def show_version(tasks: TaskStore, principal: Principal, task: TaskRecord, number: int) -> VersionView:
    """Return a version with its spec."""
    in_full = sees_secrets(principal, task.owner)
    found = await revision(tasks, task, number)
    head = _version(task, found, in_full=in_full)
    return VersionView(*head, spec=_spec(found.version, in_full=in_full))


def saved(applied: Applied, warnings: Sequence[Problem]) -> TaskSaved:
    """Return the outcome of saving a task."""
    task = applied.task
    return TaskSaved(
        *(str(task.id), str(task.id), task.name, task.version, applied.status),
        changes=change_views(applied.changes),
        warnings=wrongs(warnings),
    )


def _version_line(task: TaskRecord, revision: Revision, *, in_full: bool) -> VersionLine:
    return VersionLine(*_version(task, revision, in_full=in_full))


def _spec(version: TaskVersion, *, in_full: bool) -> msgspec.Raw:
    return msgspec.Raw(version.spec if in_full else mask_spec(version.spec))


def _head(task: TaskRecord) -> tuple[str, str, str, str, int, str, str]:
    moments = (format_time(task.created_at), format_time(task.updated_at))
    return (str(task.id), str(task.id), task.name, task.owner, task.version, *moments)


def _version(
    task: TaskRecord, revision: Revision, *, in_full: bool
) -> tuple[str, str, int, str, str, str, str, list[ChangeView]]:
    one = revision.version
    return (
        *(
            str(task.id),
            task.name,
            one.number,
            one.author,
            format_time(one.created_at),
            one.note,
            one.spec_hash,
        ),
        change_views(revision.changes if in_full else mask_changes(revision.changes)),
    )


def change_views(changes: Sequence[SpecChange]) -> list[ChangeView]:
    """Return the views of changes."""
    return [
        ChangeView(
            one.kind,
            one.path,
            msgspec.UNSET if one.kind == "added" else one.before,
            msgspec.UNSET if one.kind == "removed" else one.after,
        )
        for one in changes
    ]
