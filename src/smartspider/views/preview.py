"""Looks at pages as they are told."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.views.problem import Wrong


class RejectedRow(msgspec.Struct, frozen=True):
    """An item that would not be kept, and why."""

    reason: str
    step: str
    field: str
    value: Any


class StepView(msgspec.Struct, frozen=True):
    """What a step did, in values."""

    seen: int
    changed: int
    emptied: int
    rejected: int


class RefusalView(msgspec.Struct, frozen=True):
    """Links that would not be followed for one reason, and some of them."""

    count: int
    examples: list[str]


class PageLook(msgspec.Struct, frozen=True):
    """A page that was fetched and read."""

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
    """How many items of a page type have a value in a field, and the first such value."""

    page: str
    field: str
    filled: int
    items: int
    sample: Any


class PageFailure(msgspec.Struct, frozen=True):
    """A page that could not be had."""

    url: str
    reason: str


class TaskLook(msgspec.Struct, frozen=True):
    """What a crawl of a task would find on its first pages."""

    pages: list[PageLook]
    failures: list[PageFailure]
    rows: list[dict[str, Any]]
    columns: list[str]
    coverage: list[FieldLook]


class DryRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a task is valid. `preview` are rows of its first pages, where that was asked for."""

    valid: bool
    errors: list[Wrong]
    warnings: list[Wrong]
    preview: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    look: TaskLook | msgspec.UnsetType = msgspec.UNSET
    """The same page by page."""


class PreviewView(msgspec.Struct, frozen=True):
    """What rules find on a page. Nothing of it is kept."""

    url: str
    """Where the page was in the end."""
    status: int
    engine: str
    items: list[dict[str, Any]]
    rejected: list[RejectedRow]
    counts: dict[str, StepView]
    """What each step did, by its name in the task."""
    warnings: list[str]
