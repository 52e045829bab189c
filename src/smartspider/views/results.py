"""Rows as they are told, and what became of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Row = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})]
"""The fields of a row, as the store keeps them."""


class ResultView(msgspec.Struct, frozen=True):
    """A row: its fields in task order, and where and when it was found."""

    run_id: str
    url: str
    data: Row
    fingerprint: str
    """Stands for the content: equal rows have equal ones."""
    created_at: str


class ResultCountView(msgspec.Struct, frozen=True):
    """How many rows there are. Not `complete`: so many among those that were looked at."""

    run_id: str | None
    """Null: the task has no run yet."""
    count: int
    complete: bool


class FieldCoverage(msgspec.Struct, frozen=True):
    """How full a field is among the rows looked at, and a few of its values."""

    field: str
    filled: int
    share: float
    """0 to 1."""
    examples: list[Any]


class CoverageView(msgspec.Struct, frozen=True):
    """How full the fields of a run's rows are, over its newest rows."""

    run_id: str | None
    """Null: the task has no run yet."""
    rows: int
    """All there are."""
    looked_at: int
    fields: list[FieldCoverage]


class RejectView(msgspec.Struct, frozen=True):
    """An item that was not kept."""

    id: str
    run_id: str
    url: str
    reason: str
    step: str
    field: str
    value: Any
    """What the field held; of what is too long, a string of its start."""
    data: Any
    """The whole item, cut like the value."""


class CleaningView(msgspec.Struct, frozen=True):
    """What a step made of a value."""

    id: str
    run_id: str
    url: str
    item: int
    """Its number on the page."""
    step: str
    field: str
    before: Any
    after: Any


class RowEdit(msgspec.Struct, frozen=True):
    """A field of a row that is not what it was; missing is null."""

    field: str
    before: Any
    after: Any


class RowChange(msgspec.Struct, frozen=True):
    """A row that is new, changed or gone. `row` is how it is now, or was before it went."""

    kind: Literal["new", "changed", "gone"]
    url: str
    row: dict[str, Any]
    edits: list[RowEdit] = []


class ChangeCounts(msgspec.Struct, frozen=True):
    """How many rows are what. Nothing is known about those that are `unseen`: their pages were skipped or
    failed, or the later run keeps only rows that no earlier run of the task has.
    """

    new: int = 0
    changed: int = 0
    gone: int = 0
    unchanged: int = 0
    unseen: int = 0


class DifferenceView(msgspec.Struct, frozen=True):
    """What changed from one run of a task to another: the counts, and the first of the changes."""

    before: str
    """The id of the earlier run."""
    after: str
    key: str
    """What rows are recognised by, in words."""
    counts: ChangeCounts
    changes: list[RowChange]
    has_more: bool
    """There are more changes than these."""
