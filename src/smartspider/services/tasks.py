"""Keeping tasks: applied by name, looked back at, compared."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Literal

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import Conflict, NotFound, Outdated, Problem, TaskInvalid
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


async def find_task(tasks: TaskStore, text: str, *, or_deleted: bool = False) -> TaskRecord:
    """The task with an id or a name, as paths and queries have them; a deleted one only by its id."""
    if text.isascii() and text.isdecimal() and len(text) <= 18:
        with suppress(NotFound):  # then it may be a name
            task = await tasks.get(int(text))
            if or_deleted or not task.is_deleted:
                return task
    try:
        return await tasks.get(text)
    except NotFound:
        raise NotFound(
            f"there is no task {text[:100]!r}", hint="GET /api/tasks lists the tasks there are"
        ) from None


async def find_own_task(tasks: TaskStore, text: str, principal: Principal) -> TaskRecord:
    """A task that the principal may change; raises `Forbidden` before anything else is looked at."""
    task = await find_task(tasks, text)
    require(principal, "tasks", "write", owner=task.owner)
    return task


async def create(tasks: TaskStore, spec: TaskSpec, principal: Principal, note: str = "") -> Applied:
    """A new task, which belongs to who made it."""
    require(principal, "tasks", "write")
    _check_note(note)
    return Applied("created", await tasks.create(spec, actor=principal.name, note=note), [])


async def change(
    tasks: TaskStore,
    task: TaskRecord,
    spec: TaskSpec,
    principal: Principal,
    *,
    expected: int | None = None,
    note: str = "",
) -> Applied:
    """Another version of a task, unless it is the same; `Outdated` when it is not what was expected."""
    require(principal, "tasks", "write", owner=task.owner)
    _check_note(note)
    if spec.name != task.name:
        problem = Problem("name", f"the task is called {task.name!r}, and a task keeps its name")
        raise TaskInvalid(
            f"the task {task.name!r} cannot become {spec.name!r}",
            (problem,),
            hint="create a task with the new name",
        )
    try:
        new = await tasks.change(task.id, spec, actor=principal.name, note=note, expected_version=expected)
    except Conflict as error:
        raise Outdated(error.message, hint=error.hint) from error
    if new.version == task.version:
        return Applied("unchanged", new, [])
    return Applied("changed", new, (await compare(tasks, new)).changes)


async def delete(tasks: TaskStore, task: TaskRecord, principal: Principal) -> TaskRecord:
    """Delete a task that has no unfinished run."""
    require(principal, "tasks", "write", owner=task.owner)
    return await tasks.delete(task.id, actor=principal.name)


async def apply(tasks: TaskStore, spec: TaskSpec, *, actor: str, note: str = "") -> Applied:
    """Make sure that the task with this name is this one: created, changed, or left as it is."""
    _check_note(note)
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


def _check_note(note: str) -> None:
    if len(note) > MAX_NOTE:
        raise TaskInvalid(f"the note has {len(note)} characters", hint=f"{MAX_NOTE} is the most it may have")


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


async def revision(tasks: TaskStore, task: TaskRecord, number: int) -> Revision:
    """One version of a task, with what it changed."""
    found = await tasks.versions(task.id, before=number + 1, limit=2)
    if not found or found[0].number != number:
        raise NotFound(
            f"the task {task.name!r} has no version {number}", hint=f"it has versions 1 to {task.version}"
        )
    changes = spec_difference(found[1].spec, found[0].spec) if len(found) > 1 else []
    return Revision(found[0], changes)
