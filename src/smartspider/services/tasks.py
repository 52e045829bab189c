"""Keeping tasks: applied by name, looked back at, compared."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Literal

import msgspec

from smartspider.core.errors import Conflict, NotFound, TaskInvalid
from smartspider.core.tasks import MAX_NOTE, TaskRecord, TaskSpec, TaskVersion
from smartspider.interfaces.task_store import TaskStore
from smartspider.services.spec_difference import SpecChange, spec_difference

_TRIES = 10
"""Others may change the same task at the same time; this often in a row is no chance."""


class Applied(msgspec.Struct, frozen=True):
    """What came of applying a task, and what changed since the version before."""

    status: Literal["created", "changed", "unchanged"]
    task: TaskRecord
    changes: list[SpecChange]


class Revision(msgspec.Struct, frozen=True):
    """A version of a task, and what changed since the one before; nothing for the first."""

    version: TaskVersion
    changes: list[SpecChange]


class Comparison(msgspec.Struct, frozen=True):
    """What changed from one version of a task to another."""

    before: TaskVersion
    after: TaskVersion
    changes: list[SpecChange]


async def apply(tasks: TaskStore, spec: TaskSpec, *, actor: str, note: str = "") -> Applied:
    """Make sure that the task with this name is this one: created, changed, or left as it is."""
    if len(note) > MAX_NOTE:
        raise TaskInvalid(f"the note has {len(note)} characters", hint=f"{MAX_NOTE} is the most it may have")
    for _ in range(_TRIES):
        with suppress(Conflict, NotFound):
            return await _apply(tasks, spec, actor, note)
    raise Conflict(f"the task {spec.name!r} is being changed by others all the time", hint="try again later")


async def _apply(tasks: TaskStore, spec: TaskSpec, actor: str, note: str) -> Applied:
    """One try; Conflict and NotFound mean that somebody was faster."""
    try:
        old = await tasks.get(spec.name)
    except NotFound:
        return Applied("created", await tasks.create(spec, actor=actor, note=note), [])
    new = await tasks.change(old.id, spec, actor=actor, note=note, expected_version=old.version)
    if new.version == old.version:
        return Applied("unchanged", new, [])
    return Applied("changed", new, (await compare(tasks, new)).changes)


async def compare(
    tasks: TaskStore, task: TaskRecord, before: int | None = None, after: int | None = None
) -> Comparison:
    """From one version to another: by default to the newest, from the one before that."""
    later = task.version if after is None else after
    earlier = later - 1 if before is None else before
    if before is None and earlier < 1:
        raise NotFound(
            f"the task {task.name!r} has no version before {later}",
            hint=f"`smartspider task show {task.name}` shows the task",
        )
    old, new = await tasks.version(task.id, earlier), await tasks.version(task.id, later)
    return Comparison(old, new, spec_difference(old.spec, new.spec))


async def history(
    tasks: TaskStore, task: TaskRecord, *, before: int | None = None, limit: int = 20
) -> list[Revision]:
    """Versions of a task, newest first, each with what it changed."""
    found = await tasks.versions(task.id, before=before, limit=limit + 1)
    revisions = [
        Revision(version, spec_difference(older.spec, version.spec)) for version, older in pairwise(found)
    ]
    if len(found) <= limit:
        revisions += [Revision(first, []) for first in found[-1:]]
    return revisions
