"""Stored tasks: name, owner and all versions."""

from __future__ import annotations

from typing import Literal

import msgspec

SYSTEM = "system"
"""The actor of automatic changes."""

MAX_NOTE = 1000

TaskOrder = Literal["created", "-created", "name", "-name"]
"""The order of a list; with `-`, the last one first."""


class TaskSpec(msgspec.Struct, frozen=True):
    """A validated task. `spec` is its JSON; `spec_hash` does not depend on the order of keys."""

    name: str
    spec: bytes
    spec_hash: str


class TaskRecord(msgspec.Struct, frozen=True):
    """A stored task. `version` is the number of its newest version."""

    id: int
    name: str
    owner: str
    created_at: float
    updated_at: float
    version: int
    deleted_at: float | None = None

    @property
    def is_deleted(self) -> bool:
        """Return whether the task is deleted. Its versions remain for the runs that use them."""
        return self.deleted_at is not None


class TaskVersion(msgspec.Struct, frozen=True):
    """A version of a task. Versions are numbered from 1 and immutable."""

    task_id: int
    number: int
    spec: bytes
    spec_hash: str
    author: str
    created_at: float
    note: str

    def matches(self, spec: TaskSpec) -> bool:
        """Return whether both are the same task byte by byte. The order of fields matters: it is the order of
        columns.
        """
        return (self.spec_hash, self.spec) == (spec.spec_hash, spec.spec)
