"""Tasks and their versions, made ready to be told."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.errors import Problem
from smartspider.core.runs import Run
from smartspider.core.tasks import TaskRecord, TaskVersion
from smartspider.services.spec_difference import SpecChange
from smartspider.services.tasks import Applied, Revision
from smartspider.views.problem import Wrong
from smartspider.views.tasks import (
    ChangeView,
    NewestRun,
    TaskLine,
    TaskSaved,
    TaskView,
    VersionLine,
    VersionView,
)
from smartspider.views.times import told_at


def saved(applied: Applied, missing: Sequence[Problem]) -> TaskSaved:
    """What came of keeping a task."""
    task = applied.task
    return TaskSaved(
        *(str(task.id), str(task.id), task.name, task.version, applied.status),
        changes=change_views(applied.changes),
        warnings=wrongs(missing),
    )


def wrongs(problems: Sequence[Problem]) -> list[Wrong]:
    """Problems as they are told."""
    return [Wrong(one.path, one.message, one.hint) for one in problems]


def line(task: TaskRecord) -> TaskLine:
    """A task in a list."""
    return TaskLine(*_head(task))


def whole(task: TaskRecord, version: TaskVersion, run: Run | None) -> TaskView:
    """A task as it stands, with its newest run."""
    return TaskView(
        *_head(task),
        author=version.author,
        note=version.note,
        spec_hash=version.spec_hash,
        spec=msgspec.Raw(version.spec),
        newest_run=None if run is None else NewestRun(str(run.id), run.state, run.reason),
    )


def version_line(task: TaskRecord, revision: Revision) -> VersionLine:
    """A version in a list."""
    return VersionLine(*_version(task, revision))


def version_view(task: TaskRecord, revision: Revision) -> VersionView:
    """A version with the task as it was."""
    return VersionView(*_version(task, revision), spec=msgspec.Raw(revision.version.spec))


def _head(task: TaskRecord) -> tuple[str, str, str, str, int, str, str]:
    moments = (told_at(task.created_at), told_at(task.updated_at))
    return (str(task.id), str(task.id), task.name, task.owner, task.version, *moments)


def _version(
    task: TaskRecord, revision: Revision
) -> tuple[str, str, int, str, str, str, str, list[ChangeView]]:
    one = revision.version
    return (
        *(str(task.id), task.name, one.number, one.author, told_at(one.created_at), one.note, one.spec_hash),
        change_views(revision.changes),
    )


def change_views(changes: Sequence[SpecChange]) -> list[ChangeView]:
    """Changes as they are told."""
    return [
        ChangeView(
            one.kind,
            one.path,
            msgspec.UNSET if one.kind == "added" else one.before,
            msgspec.UNSET if one.kind == "removed" else one.after,
        )
        for one in changes
    ]
