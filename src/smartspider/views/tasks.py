"""Views of tasks and their versions."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from smartspider.core.runs.run import RunState
from smartspider.views.problem import Wrong


class ChangeView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A difference between two versions. `before` is absent for `added`, `after` for `removed`."""

    kind: Literal["added", "removed", "changed", "reordered"]
    path: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class TaskSaved(msgspec.Struct, frozen=True):
    """A stored task. `warnings` list unsupported features and likely mistakes."""

    id: str
    task_id: str
    """The same as `id`."""
    name: str
    version: int
    status: Literal["created", "changed", "unchanged"]
    changes: list[ChangeView]
    """Changes since the previous version."""
    warnings: list[Wrong]


class TaskHead(msgspec.Struct, frozen=True):
    """A task and its owner."""

    id: str
    task_id: str
    name: str
    owner: str
    version: int
    created_at: str
    updated_at: str


class RecentRunView(msgspec.Struct, frozen=True):
    """The outcome of a run in the history of its task."""

    run_id: str
    state: RunState
    items: int
    failed: int
    """Failed requests."""
    at: str
    """When it ended; while it has not, when it was created."""


class TaskLine(TaskHead, frozen=True):
    """A task in a list."""

    recent: list[RecentRunView]
    """Its newest runs, oldest first, up to 30."""
    next_fire_at: str | None
    """When a schedule starts it next."""


class NewestRun(msgspec.Struct, frozen=True):
    """The newest run of a task."""

    run_id: str
    state: RunState
    reason: str


class TaskView(TaskHead, frozen=True):
    """The newest version of a task. `spec` is the task file without defaults."""

    author: str
    """The author of this version."""
    note: str
    spec_hash: str
    spec: msgspec.Raw
    newest_run: NewestRun | None


class VersionLine(msgspec.Struct, frozen=True):
    """A version of a task, and the changes since the previous one (none for the first)."""

    task_id: str
    name: str
    version: int
    author: str
    created_at: str
    note: str
    spec_hash: str
    changes: list[ChangeView]


class VersionView(VersionLine, frozen=True):
    """A version of a task with its task file."""

    spec: msgspec.Raw
