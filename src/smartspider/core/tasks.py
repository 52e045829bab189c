"""Tasks as they are kept: a name, an owner, and every version there ever was."""

from __future__ import annotations

import msgspec

SYSTEM = "system"
"""Who acts when nobody in particular does."""

MAX_NOTE = 1000


class TaskSpec(msgspec.Struct, frozen=True):
    """A checked task. `spec` is its JSON; `spec_hash` does not depend on the order of keys."""

    name: str
    spec: bytes
    spec_hash: str


class TaskRecord(msgspec.Struct, frozen=True):
    """A task that is kept, as it stands. `version` is the number of its newest version."""

    id: int
    name: str
    owner: str
    created_at: float
    updated_at: float
    version: int
    deleted_at: float | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether only its versions are left, for the runs that had them."""
        return self.deleted_at is not None


class TaskVersion(msgspec.Struct, frozen=True):
    """A task as somebody wrote it at a time. Versions are numbered from 1 and never change."""

    task_id: int
    number: int
    spec: bytes
    spec_hash: str
    author: str
    created_at: float
    note: str

    def holds(self, spec: TaskSpec) -> bool:
        """Whether this is the same task to the byte; the order of fields counts, as it is that of columns."""
        return (self.spec_hash, self.spec) == (spec.spec_hash, spec.spec)
