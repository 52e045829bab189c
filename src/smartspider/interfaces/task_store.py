"""Tasks and their versions."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.tasks import TaskRecord, TaskSpec, TaskVersion


class TaskStore(Protocol):
    """1. No two tasks have one name, deleted ones aside: a second is a `Conflict`. A task keeps its name.
    2. A change makes a version only when the spec is another one. Versions are numbered 1, 2, ... and stay.
    3. A change that expects another version than the newest is a `Conflict` and changes nothing.
    4. A task with an unfinished run is not deleted. A deleted one is found by its id alone and never
       changed, and its name is free; its versions stay for its runs.
    5. Every write and its audit entry are one transaction; what changes nothing has no entry.
    6. Tasks are listed in the order they were created, those whose names begin alike in the order of their
       names, by a cursor that never skips or repeats one; versions newest first. No call looks at more rows
       than it gives, tombstones aside.
    """

    async def create(self, spec: TaskSpec, *, actor: str, note: str = "") -> TaskRecord:
        """A new task, with the spec as version 1."""

    async def change(
        self, task_id: int, spec: TaskSpec, *, actor: str, note: str = "", expected_version: int | None = None
    ) -> TaskRecord:
        """Give a task another spec."""

    async def get(self, task: int | str) -> TaskRecord:
        """The task with an id, also a deleted one, or the task that has a name now."""

    async def find(self, *, after: int = 0, limit: int = 100) -> list[TaskRecord]:
        """Tasks that are not deleted, those with a greater id than `after`."""

    async def find_named(self, prefix: str, *, after: str = "", limit: int = 100) -> list[TaskRecord]:
        """Tasks that are not deleted and whose names begin so, those with a greater name than `after`."""

    async def versions(
        self, task_id: int, *, before: int | None = None, limit: int = 100
    ) -> list[TaskVersion]:
        """Versions of a task, newest first, those with a smaller number than `before`."""

    async def version(self, task_id: int, number: int) -> TaskVersion:
        """One version of a task."""

    async def delete(self, task_id: int, *, actor: str) -> TaskRecord:
        """Delete a task."""
