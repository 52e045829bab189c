"""Views of tasks and their versions. Secrets are masked for principals who may not change the task."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from smartspider.core.access import Principal
from smartspider.core.datetimes import format_time
from smartspider.core.errors import Problem
from smartspider.core.redaction.redactor import Redactor
from smartspider.core.tasks import TaskRecord, TaskVersion
from smartspider.installation.installation import Installation
from smartspider.services.inputs import parse_cursor, to_page
from smartspider.services.runs.lookup import newest_run
from smartspider.services.tasks.spec_diff import SpecChange
from smartspider.services.tasks.tasks import Applied, Revision, history, revision
from smartspider.store.tasks import TaskStore
from smartspider.views.listed import Listed
from smartspider.views.problem import wrongs
from smartspider.views.tasks import (
    ChangeView,
    NewestRun,
    TaskLine,
    TaskSaved,
    TaskView,
    VersionLine,
    VersionView,
)


async def list_tasks(tasks: TaskStore, name: str = "", *, cursor: str | None, limit: int) -> Listed[TaskLine]:
    """List tasks, oldest first; with `name`, those with this prefix by name."""
    if name:
        found = await tasks.find_named(name, after=cursor or "", limit=limit + 1)
        return to_page(found, limit, lambda task: task.name, _line)
    found = await tasks.find(after=parse_cursor(cursor) or 0, limit=limit + 1)
    return to_page(found, limit, lambda task: task.id, _line)


async def show(installation: Installation, principal: Principal, task: TaskRecord) -> TaskView:
    """Return a task with its newest run; secrets are masked unless the principal may change the task."""
    version = await installation.tasks.version(task.id, task.version)
    run = await newest_run(installation.store, task.id)
    return TaskView(
        *_head(task),
        author=version.author,
        note=version.note,
        spec_hash=version.spec_hash,
        spec=_spec(version, in_full=may_see_secrets(principal, task)),
        newest_run=None if run is None else NewestRun(str(run.id), run.state, run.reason),
    )


async def list_versions(
    tasks: TaskStore, principal: Principal, task: TaskRecord, *, cursor: str | None, limit: int
) -> Listed[VersionLine]:
    """List versions of a task with their changes, newest first."""
    found = await history(tasks, task, before=parse_cursor(cursor), limit=limit + 1)
    shown = partial(_version_line, task, in_full=may_see_secrets(principal, task))
    return to_page(found, limit, lambda one: one.version.number, shown)


async def show_version(tasks: TaskStore, principal: Principal, task: TaskRecord, number: int) -> VersionView:
    """Return a version with its spec."""
    in_full = may_see_secrets(principal, task)
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


def _line(task: TaskRecord) -> TaskLine:
    return TaskLine(*_head(task))


def _version_line(task: TaskRecord, revision: Revision, *, in_full: bool) -> VersionLine:
    return VersionLine(*_version(task, revision, in_full=in_full))


def _spec(version: TaskVersion, *, in_full: bool) -> msgspec.Raw:
    return msgspec.Raw(version.spec if in_full else mask_secrets(version.spec))


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


BY_NAME = frozenset({"headers", "body", "meta", "sinks"})
"""Keys of a task below which names decide what is secret; elsewhere only URLs contain secrets."""


def may_see_secrets(principal: Principal, task: TaskRecord) -> bool:
    """True if the principal may change the task."""
    return principal.may("tasks", "write") and principal.owns(task.owner)


def mask_secrets(spec: bytes) -> bytes:
    """Return a task as JSON with its secrets masked."""
    return msgspec.json.encode(_mask(msgspec.json.decode(spec), Redactor()))


def mask_changes(changes: Sequence[SpecChange]) -> list[SpecChange]:
    """Return changes with their secrets masked."""
    redactor = Redactor()
    return [
        msgspec.structs.replace(
            one,
            before=_mask_at(one.path, one.before, redactor),
            after=_mask_at(one.path, one.after, redactor),
        )
        for one in changes
    ]


def _mask_at(path: str, value: Any, redactor: Redactor) -> Any:
    """Mask the value at a path of a task."""
    parts = [part.partition("[")[0] for part in path.split(".")]
    for index, part in enumerate(parts):
        if part in BY_NAME:
            name = ".".join(parts[index + 1 :])
            return redactor.fields({name: value})[name] if name else redactor.value(value)
    return _mask(value, redactor)


def _mask(value: Any, redactor: Redactor) -> Any:
    match value:
        case str():
            return redactor.text(value) if "://" in value else value
        case list():
            return [_mask(one, redactor) for one in value]
        case dict():
            return {
                name: redactor.value(one) if name in BY_NAME else _mask(one, redactor)
                for name, one in value.items()
            }
        case _:
            return value
