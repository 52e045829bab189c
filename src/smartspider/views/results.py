"""Views of rows, rejected items and differences between runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from smartspider.core.items.columns import ColumnKind

Row = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})]
"""The fields of a row, as stored."""


class ResultView(msgspec.Struct, frozen=True):
    """A row: its fields in task order, and where and when it was found."""

    id: str
    run_id: str
    page_id: str
    """The id of the request that brought it."""
    url: str
    data: Row
    fingerprint: str
    """A hash of the content: equal rows have equal fingerprints."""
    created_at: str


class ResultCountView(msgspec.Struct, frozen=True):
    """The number of rows. If not `complete`, only a part of the rows was counted."""

    run_id: str | None
    """Null if the task has no run yet."""
    count: int
    complete: bool


class FieldCoverage(msgspec.Struct, frozen=True):
    """The fill rate of a field among the sampled rows, and some of its values."""

    field: str
    filled: int
    share: float
    """0 to 1."""
    examples: list[Any]
    type: ColumnKind
    """`number` is any number, `datetime` a text, `json` a list, an object or any value."""


class CoverageView(msgspec.Struct, frozen=True):
    """The fill rate of each field of a run's rows, from a sample of the newest rows."""

    run_id: str | None
    """Null if the task has no run yet."""
    rows: int
    """The number of rows of the run."""
    looked_at: int
    fields: list[FieldCoverage]


class RejectView(msgspec.Struct, frozen=True):
    """A rejected item."""

    id: str
    run_id: str
    url: str
    reason: str
    step: str
    field: str
    value: Any
    """The value of the field; a long value is truncated to a string."""
    data: Any
    """The whole item, truncated like `value`."""


class CleaningView(msgspec.Struct, frozen=True):
    """A value before and after a step."""

    id: str
    run_id: str
    url: str
    item: int
    """The number of the item on its page."""
    step: str
    field: str
    before: Any
    after: Any
    note: str = ""
    """A remark about a value that is a guess; else empty."""


ChangeKind = Literal["new", "changed", "gone"]


class RowEdit(msgspec.Struct, frozen=True):
    """A changed field of a row; null for a missing value."""

    field: str
    before: Any
    after: Any


class RowChange(msgspec.Struct, frozen=True):
    """A row that is new, changed or gone. `row` is its current content; for a gone row, its last content."""

    kind: ChangeKind
    id: str
    """The id of the row; of a gone row, that in the earlier run."""
    url: str
    row: dict[str, Any]
    edits: list[RowEdit] = []


class ChangeCounts(msgspec.Struct, frozen=True):
    """The number of rows by kind of change. Rows are `unseen` if their state is unknown: their pages were
    skipped or failed, or the later run stores only rows that are new to the task.
    """

    new: int = 0
    changed: int = 0
    gone: int = 0
    unchanged: int = 0
    unseen: int = 0


class DifferenceView(msgspec.Struct, frozen=True):
    """The changes from one run of a task to another: the counts, and a page of the changes."""

    before: str
    """The id of the earlier run."""
    after: str
    key: str
    """A description of the key that matches rows of the two runs."""
    counts: ChangeCounts
    changes: list[RowChange]
    has_more: bool
    """True if there are more changes."""
    next: str | None
    """The cursor of the next page; null if there are no more changes."""


class FileView(msgspec.Struct, frozen=True):
    """A file that a run downloaded."""

    id: str
    """Identifies the file within its run."""
    run_id: str
    url: str
    path: str
    """The path below the folder of all files, as rows name it."""
    sha256: str
    bytes: int
    type: str
    """The media type that the site gave."""
    downloaded_at: str
