"""Steps: convert or check a value or an item. Built-in steps and plug-ins have the same interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

import msgspec

from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.core.pages.page import Page


class PageContext(msgspec.Struct, frozen=True):
    """The page a value comes from."""

    url: str
    base: str
    """The base of the page's relative links."""
    fetched_at: float
    language: str | None = None
    """The language tag that the page declares, such as `de-AT`."""
    charset: str = "utf-8"
    """The charset of the queries of its links."""


def page_context(page: Page, base: str) -> PageContext:
    """Return the context of the values of a page; `base` resolves its relative links."""
    return PageContext(page.url, base, page.fetched_at, page.language, page.link_charset)


class StepFailed(Exception):
    """The value cannot be processed; `reason` continues the sentence: `is not a number`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@runtime_checkable
class ValueStep(Protocol):
    """Converts or checks one value.

    1. Pure: the same value gives the same result.
    2. Never receives null, unless `takes_null`.
    3. Raises only `StepFailed`; `on_error` of the task decides what follows (null, keep, reject).
    4. Receives the values of a list one by one, unless `takes_lists`.
    """

    kind: ColumnKind | None
    """The kind of the resulting column; None if it stays the same."""
    takes_null: bool
    takes_lists: bool
    is_check: bool
    """It only passes or fails values; a failure rejects the item unless the task says otherwise."""

    def apply(self, value: Any, context: PageContext) -> Any:
        """Return the new value."""


@runtime_checkable
class ColumnStep(ValueStep, Protocol):
    """A value step that reads a value by the other values of its field on the page: beside `1.234,50`, the
    point in `1.899` separates thousands. Promise 1 of `ValueStep` holds for the step of one column.
    """

    def for_column(self, values: Sequence[Any], context: PageContext) -> Self:
        """Return the step for a field with these values on the page; itself if nothing depends on them."""

    def note(self, value: Any) -> str:
        """Return a remark for the cleaning log if the result for a value is a guess; else an empty text."""


@runtime_checkable
class ItemStep(Protocol):
    """Converts or checks a whole item. Promises 1 and 3 of `ValueStep`; it may change and return its
    argument.
    """

    def apply_item(self, item: Item, context: PageContext) -> Item:
        """Return the new item."""

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """Return the columns after this step."""


class ValueRejected(Exception):
    """A value failed and its item is rejected: the step, the reason and the value."""

    def __init__(self, step: str, reason: str, value: Any) -> None:
        super().__init__(reason)
        self.step = step
        self.reason = reason
        self.value = value


class StepChain(Protocol):
    """The compiled steps of one rule."""

    kind: ColumnKind | None
    """The kind of the resulting column; None if it stays the same."""

    def for_column(self, values: list[Any], context: PageContext) -> StepChain:
        """Return the chain for a field with these values on the page; itself if nothing depends on them."""

    def apply(self, value: Any, context: PageContext, item: int) -> Any:
        """Apply all steps; return None if one failed. Raise `ValueRejected` to reject the item.

        `item` is the number of the item on its page, for the cleaning log.
        """


class StepChainCompiler(Protocol):
    """Compiles the steps of rules."""

    def __call__(self, steps: tuple[dict[str, Any], ...], path: str) -> StepChain:
        """Compile the steps of the rule at a path; raise `TaskInvalid` naming all invalid ones."""
