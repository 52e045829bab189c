"""Tasks: find, create, change, delete; and their history."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Literal

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import Conflict, NotFound, Outdated, Problem, RequestInvalid, TaskInvalid
from smartspider.core.tasks import MAX_NOTE, TaskRecord, TaskSpec, TaskVersion
from smartspider.installation.installation import Installation
from smartspider.services.inputs import check_text, is_id
from smartspider.services.tasks.spec_diff import SpecChange, diff_specs
from smartspider.store.tasks import TaskStore


class Applied(msgspec.Struct, frozen=True):
    """The outcome of saving a task, with the changes since the previous version."""

    status: Literal["created", "changed", "unchanged"]
    task: TaskRecord
    changes: list[SpecChange]


class Revision(msgspec.Struct, frozen=True):
    """A version of a task, with the changes since the previous one."""

    version: TaskVersion
    changes: list[SpecChange]


async def find_task(installation: Installation, text: str, *, or_deleted: bool = False) -> TaskRecord:
    """Return the task with an id or a name; a deleted one only by its id."""
    if is_id(text):
        with suppress(NotFound):  # it may be a name
            task = await installation.tasks.get(int(text))
            if or_deleted or not task.is_deleted:
                return task
    try:
        return await installation.tasks.get(text)
    except NotFound:
        raise NotFound(
            f"there is no task {text[:100]!r}", hint="list all tasks with `smartspider task list`"
        ) from None


async def find_own_task(installation: Installation, text: str, principal: Principal) -> TaskRecord:
    """Return a task that the principal may change; raise `Forbidden`."""
    task = await find_task(installation, text)
    require(principal, "tasks", "write", owner=task.owner)
    return task


async def create(tasks: TaskStore, spec: TaskSpec, principal: Principal, note: str = "") -> Applied:
    """Create a task, owned by the principal."""
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
    """Save a new version of a task if it differs; raise `Outdated` if `expected` is not the
    newest version.
    """
    require(principal, "tasks", "write", owner=task.owner)
    _check_note(note)
    if spec.name != task.name:
        problem = Problem("name", f"the task is named {task.name!r}, and a task cannot be renamed")
        raise TaskInvalid(
            f"the task {task.name!r} cannot be renamed to {spec.name!r}",
            (problem,),
            hint="create a task with the new name",
        )
    try:
        new = await tasks.change(task.id, spec, actor=principal.name, note=note, expected_version=expected)
    except Conflict as error:
        raise Outdated(error.message, hint=error.hint) from error
    if new.version == task.version:
        return Applied("unchanged", new, [])
    return Applied("changed", new, (await revision(tasks, new, new.version)).changes)


async def delete(tasks: TaskStore, task: TaskRecord, principal: Principal) -> TaskRecord:
    """Delete a task that has no unfinished run."""
    require(principal, "tasks", "write", owner=task.owner)
    return await tasks.delete(task.id, actor=principal.name)


def expected_version(if_match: int | str | None, newest: int) -> int | None:
    """Return the version an If-Match header names, None for any; raise `Outdated` if it is not the newest."""
    if if_match is None or (isinstance(if_match, str) and if_match.strip() == "*"):
        return None
    versions = {if_match} if isinstance(if_match, int) else _tagged_versions(if_match)
    if newest not in versions:
        raise Outdated(
            f"version {newest} is the newest, but the change is for {str(if_match)[:40]}",
            hint="review what changed, then try again with the newest version",
        )
    return newest


def _tagged_versions(header: str) -> set[int]:
    tags = (tag.strip().removeprefix("W/").strip('"') for tag in header.split(","))
    return {int(tag) for tag in tags if tag.isascii() and tag.isdecimal() and len(tag) <= 18}


def _check_note(note: str) -> None:
    check_text("note", note)
    if len(note) > MAX_NOTE:
        raise RequestInvalid(f"the note has {len(note)} characters", hint=f"use at most {MAX_NOTE}")


async def history(
    tasks: TaskStore, task: TaskRecord, *, before: int | None = None, limit: int = 20
) -> list[Revision]:
    """Return versions of a task with their changes, newest first."""
    found = await tasks.versions(task.id, before=before, limit=limit + 1)
    revisions = [
        Revision(version, diff_specs(older.spec, version.spec)) for version, older in pairwise(found)
    ]
    if len(found) <= limit:
        revisions += [Revision(first, []) for first in found[-1:]]
    return revisions


async def revision(tasks: TaskStore, task: TaskRecord, number: int) -> Revision:
    """Return one version of a task with its changes."""
    found = await tasks.versions(task.id, before=number + 1, limit=2)
    if not found or found[0].number != number:
        raise NotFound(
            f"the task {task.name!r} has no version {number}", hint=f"valid versions: 1 to {task.version}"
        )
    changes = diff_specs(found[1].spec, found[0].spec) if len(found) > 1 else []
    return Revision(found[0], changes)
