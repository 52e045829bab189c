"""Views of previews: dry runs of tasks, and rules tried on a page."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from smartspider.views.left_out import LeftOutView
from smartspider.views.problem import Wrong


class RejectedRow(msgspec.Struct, frozen=True):
    """A rejected item and the reason."""

    reason: str
    step: str
    field: str
    value: Any


class StepView(msgspec.Struct, frozen=True):
    """Counts of the values a step processed."""

    seen: int
    changed: int
    emptied: int
    rejected: int
    unsure: int = 0
    """Values that can be read in two ways, of which the step chose the likelier one."""


class RefusalView(msgspec.Struct, frozen=True):
    """The number of links not followed for one reason, and examples."""

    count: int
    examples: list[str]


class PageLook(msgspec.Struct, frozen=True):
    """A page that was fetched and parsed."""

    url: str
    status: int
    page: str
    engine: str
    items: list[dict[str, Any]]
    rejected: list[RejectedRow]
    next_pages: list[str]
    followed: list[str]
    followed_count: int
    refused: dict[str, RefusalView]
    counts: dict[str, StepView]


class FieldLook(msgspec.Struct, frozen=True):
    """The fill count of a field within a page type, and its first value."""

    page: str
    field: str
    filled: int
    items: int
    sample: Any


class PageFailure(msgspec.Struct, frozen=True):
    """A page that could not be fetched."""

    url: str
    reason: str


class TaskLook(msgspec.Struct, frozen=True):
    """The items extracted from the first pages of a task."""

    pages: list[PageLook]
    failures: list[PageFailure]
    rows: list[dict[str, Any]]
    columns: list[str]
    coverage: list[FieldLook]
    left_out: list[LeftOutView]
    """URLs that the pages lead to and a crawl would leave out, next pages first."""
    missing_entries: list[str]
    missing_entry_count: int
    empty_fields: list[str]
    """Fields without a value in any of the rows."""


class DryRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """The validation result of a task. `preview` holds rows of its first pages, if requested."""

    valid: bool
    errors: list[Wrong]
    warnings: list[Wrong]
    preview: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    look: TaskLook | msgspec.UnsetType = msgspec.UNSET
    """The same rows, page by page."""


class PreviewView(msgspec.Struct, frozen=True):
    """The items that rules extract from a page. Nothing is stored."""

    url: str
    """The URL after redirects."""
    status: int
    engine: str
    items: list[dict[str, Any]]
    rejected: list[RejectedRow]
    counts: dict[str, StepView]
    """Counts of each step, by its name in the task."""
    warnings: list[str]


class NextPageView(msgspec.Struct, frozen=True):
    """A possible next page of a list, and what became of it when it was fetched."""

    url: str
    state: Literal["checked", "refused", "other", "same", "failed"]
    """`checked`: it has more of the list, and the task follows it."""
    message: str
    pagination: dict[str, Any]


class SuggestedFieldView(msgspec.Struct, frozen=True):
    """A field of the items, with values of the page."""

    name: str
    rule: Any
    samples: list[Any]
    coverage: float
    """The share of items with a value."""


class SuggestionView(msgspec.Struct, frozen=True):
    """A list or record found on a page, and the task that crawls it."""

    kind: Literal["list", "table", "data", "feed", "page", "sitemap"]
    items: Any
    """The rule that finds the items; null if the page is one item."""
    count: int
    """The number of items on the page."""
    score: float
    reasons: list[str]
    fields: list[SuggestedFieldView]
    next_page: NextPageView | None
    task: dict[str, Any]


class SuggestionsView(msgspec.Struct, frozen=True):
    """The suggestions for a page, best first. Nothing is stored."""

    url: str
    """The URL after redirects."""
    candidates: list[SuggestionView]
    explanation: list[str]
    """Why the first one is first."""
