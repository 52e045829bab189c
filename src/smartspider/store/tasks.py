"""The store of tasks and their versions. Functions with a connection run inside a transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from smartspider.core import failpoints
from smartspider.core.errors import Conflict, NotAllowed, NotFound
from smartspider.core.runs.run import RunState
from smartspider.core.tasks import TaskOrder, TaskRecord, TaskSpec, TaskVersion
from smartspider.store import audit, statements
from smartspider.store.database import Connection, Database, row, rows
from smartspider.store.patterns import like_pattern

SQL = statements.load("tasks.sql", __package__)

PAST_ALL = (1 << 63) - 1
NEWEST_STATE = "(SELECT state FROM run WHERE task_id = task.id ORDER BY run.id DESC LIMIT 1)"


class TaskFilter(msgspec.Struct, frozen=True):
    """Conditions that all must hold."""

    prefix: str = ""
    """The start of the name."""
    q: str = ""
    """Part of the name; upper and lower case are the same."""
    owner: str | None = None
    state: RunState | None = None
    """Of the newest run."""


class TaskWriter(msgspec.Struct, frozen=True):
    """Writes tasks with an author, a time and a note."""

    connection: Connection
    now: float
    actor: str
    note: str = ""

    def create(self, spec: TaskSpec) -> TaskRecord:
        """Create a task."""
        if find_by_name(self.connection, spec.name) is not None:
            raise Conflict(
                f"a task {spec.name!r} already exists",
                hint="change it, or choose another name",
            )
        if (alike := row(self.connection, SQL.named_alike, (spec.name,))) is not None:
            raise Conflict(
                f"a task {alike[0]!r} already exists, and {spec.name!r} differs only in upper and lower case",
                hint=f"write {alike[0]!r}, or choose another name",
            )
        ((task_id,),) = rows(self.connection, SQL.add, (spec.name, self.actor, self.now))
        self._add_version(task_id, 1, spec, "task.created")
        return get(self.connection, task_id)

    def change(self, task: TaskRecord, spec: TaskSpec) -> TaskRecord:
        """Add a version if the spec differs from the newest."""
        if spec.name != task.name:
            raise NotAllowed(
                f"the task {task.name!r} cannot be renamed to {spec.name!r}",
                hint="create a task with the new name",
            )
        if get_version(self.connection, task.id, task.version).matches(spec):
            return task
        number = task.version + 1
        self.connection.execute(SQL.changed, (number, self.now, task.id))
        self._add_version(task.id, number, spec, "task.changed")
        return get(self.connection, task.id)

    def apply(self, spec: TaskSpec) -> TaskRecord:
        """Create or change the task with this name so that the spec is its newest version."""
        task = find_by_name(self.connection, spec.name)
        return self.create(spec) if task is None else self.change(task, spec)

    def delete(self, task: TaskRecord) -> TaskRecord:
        """Mark a task as deleted."""
        unfinished = row(self.connection, SQL.unfinished, (task.id,))
        if unfinished is not None:
            raise Conflict(
                f"run {unfinished[0]} of the task {task.name!r} is {unfinished[1]}",
                hint="cancel it or let it finish first",
            )
        self.connection.execute(SQL.deleted, (self.now, task.id))
        for forget in (
            SQL.delete_firings,
            SQL.delete_schedules,
            SQL.delete_notifications,
            SQL.delete_targets,
        ):
            self.connection.execute(forget, (task.id,))
        self._tell("task.deleted", task.id, name=task.name, version=task.version)
        return get(self.connection, task.id)

    def _add_version(self, task_id: int, number: int, spec: TaskSpec, action: str) -> None:
        self.connection.execute(
            SQL.add_version,
            (task_id, number, spec.spec, spec.spec_hash, self.actor, self.now, self.note),
        )
        failpoints.reach("task.versioned")
        more = {"note": self.note} if self.note else {}
        self._tell(action, task_id, name=spec.name, version=number, spec_hash=spec.spec_hash, **more)

    def _tell(self, action: str, task_id: int, **detail: Any) -> None:
        audit.write(self.connection, self.now, self.actor, action, f"task:{task_id}", **detail)


def find_by_name(connection: Connection, name: str) -> TaskRecord | None:
    """Return the task with this name, unless it is deleted."""
    found = row(connection, SQL.by_name, (name,))
    return TaskRecord(*found) if found else None


def get(connection: Connection, task: int | str) -> TaskRecord:
    """Return a task by id, also a deleted one, or by name."""
    if isinstance(task, str):
        named = find_by_name(connection, task)
        if named is None:
            raise NotFound(f"there is no task {task!r}", hint="`smartspider task list` shows all tasks")
        return named
    found = row(connection, SQL.by_id, (task,))
    if found is None:
        raise NotFound(f"there is no task {task}", hint="`smartspider task list` shows all tasks")
    return TaskRecord(*found)


def get_version(connection: Connection, task_id: int, number: int) -> TaskVersion:
    """Return a version of a task."""
    found = row(connection, SQL.version, (task_id, number))
    if found is None:
        task = get(connection, task_id)
        raise NotFound(
            f"the task {task.name!r} has no version {number}", hint=f"valid versions: 1 to {task.version}"
        )
    return TaskVersion(*found)


def get_live(connection: Connection, task_id: int) -> TaskRecord:
    """Return a task that is not deleted."""
    task = get(connection, task_id)
    if task.is_deleted:
        raise NotFound(f"the task {task.name!r} ({task.id}) is deleted", hint="create it again")
    return task


def listing(only: TaskFilter, order: TaskOrder, after: int | str | None) -> tuple[str, tuple[Any, ...]]:
    """Return the statement of a list and its values but the limit.

    It has only the given conditions, so that the order comes from an index. A condition on a column with an
    index of another order is one on an expression, which no index is chosen for.
    """
    key, is_down = ("name" if order.endswith("name") else "id"), order.startswith("-")
    name, owner = ("name", "owner || ''") if key == "name" else ("name || ''", "owner")
    first, last = only.prefix, only.prefix + chr(0x10FFFF)
    pattern = like_pattern(only.q)
    exact = like_pattern(only.q, is_folded=False)  # some databases fold ASCII letters only
    # The index takes one bound at each end, and a cursor is the closer one.
    is_inside = isinstance(after, str) and first <= after < last
    conditions: list[tuple[bool, str, tuple[Any, ...]]] = [
        (after is not None, f"{key} {'<' if is_down else '>'} ?", (after,)),
        (bool(first) and not (is_inside and not is_down), f"{name} >= ?", (first,)),
        (bool(first) and not (is_inside and is_down), f"{name} < ?", (last,)),
        (only.owner is not None, f"{owner} = ?", (only.owner,)),
        (bool(only.q), "(lower(name) LIKE ? ESCAPE '\\' OR name LIKE ? ESCAPE '\\')", (pattern, exact)),
        (only.state is not None, f"{NEWEST_STATE} = ?", (only.state,)),
    ]
    given = [(text, values) for is_given, text, values in conditions if is_given]
    where = "".join(f" AND {text}" for text, _ in given)
    down = " DESC" if is_down else ""
    return f"{SQL.listed}{where} ORDER BY {key}{down} LIMIT ?", tuple(
        one for _, values in given for one in values
    )


class TaskStore:
    """1. Names of tasks are unique, deleted ones aside: a second one raises `Conflict`, also one that differs
       only in the case of ASCII letters. The name of a task never changes.
    2. A change adds a version only if the spec differs. Versions are numbered 1, 2, ... and never deleted.
    3. A change that expects another version than the newest raises `Conflict` and changes nothing.
    4. A task with an unfinished run cannot be deleted. A deleted task is found only by its id, never
       changes, and frees its name; its versions stay for its runs.
    5. Every write and its audit entry are one transaction; a call that changes nothing has no entry.
    6. Tasks are listed in the order of creation or by name, either way, by a cursor that neither skips nor
       repeats one; versions newest first. No list is sorted, and without `q`, `state` or the owner of
       tasks by name no call reads more rows than it returns, deleted tasks aside.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def create(self, spec: TaskSpec, *, actor: str, note: str = "") -> TaskRecord:
        """Create a task with the spec as version 1."""
        return await self._write(lambda author: author.create(spec), actor, note)

    async def change(
        self, task_id: int, spec: TaskSpec, *, actor: str, note: str = "", expected_version: int | None = None
    ) -> TaskRecord:
        """Change the spec of a task."""

        def work(author: TaskWriter) -> TaskRecord:
            task = get_live(author.connection, task_id)
            if expected_version not in (None, task.version):
                raise Conflict(
                    f"the task {task.name!r} has version {task.version} now, not {expected_version}",
                    hint="check what changed, and try again with the newest version",
                )
            return author.change(task, spec)

        return await self._write(work, actor, note)

    async def get(self, task: int | str) -> TaskRecord:
        """Return a task by id, also a deleted one, or by name."""
        return await self._db.read(lambda connection: get(connection, task))

    async def find(
        self,
        only: TaskFilter = TaskFilter(),
        order: TaskOrder = "created",
        *,
        after: int | str | None = None,
        limit: int = 100,
    ) -> list[TaskRecord]:
        """Return tasks that are not deleted; `after` is the id or, in the order of names, the name of the
        last one before.
        """
        sql, values = listing(only, order, after)
        return await self._db.read(
            lambda connection: [TaskRecord(*found) for found in rows(connection, sql, (*values, limit))]
        )

    async def versions(
        self, task_id: int, *, before: int | None = None, limit: int = 100
    ) -> list[TaskVersion]:
        """Return versions of a task with numbers smaller than `before`, newest first."""
        values = (task_id, PAST_ALL if before is None else before, limit)

        def work(connection: Connection) -> list[TaskVersion]:
            get(connection, task_id)
            return [TaskVersion(*found) for found in rows(connection, SQL.versions, values)]

        return await self._db.read(work)

    async def version(self, task_id: int, number: int) -> TaskVersion:
        """Return a version of a task."""
        return await self._db.read(lambda connection: get_version(connection, task_id, number))

    async def delete(self, task_id: int, *, actor: str) -> TaskRecord:
        """Delete a task."""
        return await self._write(lambda author: author.delete(get_live(author.connection, task_id)), actor)

    async def _write(
        self, work: Callable[[TaskWriter], TaskRecord], actor: str, note: str = ""
    ) -> TaskRecord:
        return await self._db.write(
            lambda connection: work(TaskWriter(connection, self._db.now(), actor, note))
        )
