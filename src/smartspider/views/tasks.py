"""Tasks as they are told."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from smartspider.core.runs.run import RunState
from smartspider.views.problem import Wrong


class ChangeView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One place where two versions differ. Of `added` there is no before, of `removed` no after."""

    kind: Literal["added", "removed", "changed", "reordered"]
    path: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class TaskSaved(msgspec.Struct, frozen=True):
    """A task that was kept. `warnings` name what this version cannot run yet, and what may surprise."""

    id: str
    task_id: str
    """The same."""
    name: str
    version: int
    status: Literal["created", "changed", "unchanged"]
    changes: list[ChangeView]
    """Since the version before."""
    warnings: list[Wrong]


class TaskLine(msgspec.Struct, frozen=True):
    """A task in a list of them."""

    id: str
    task_id: str
    name: str
    owner: str
    version: int
    created_at: str
    updated_at: str


class NewestRun(msgspec.Struct, frozen=True):
    """The newest run of a task."""

    run_id: str
    state: RunState
    reason: str


class TaskView(TaskLine, frozen=True):
    """A task as it stands. `spec` is the task file, defaults left out."""

    author: str
    """Who wrote this version."""
    note: str
    spec_hash: str
    spec: msgspec.Raw
    newest_run: NewestRun | None


class VersionLine(msgspec.Struct, frozen=True):
    """A version of a task, and what changed since the one before; nothing for the first."""

    task_id: str
    name: str
    version: int
    author: str
    created_at: str
    note: str
    spec_hash: str
    changes: list[ChangeView]


class VersionView(VersionLine, frozen=True):
    """A version of a task with the task as it was."""

    spec: msgspec.Raw
