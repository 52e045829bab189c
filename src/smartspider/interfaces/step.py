"""One treatment of a value or of an item. Built-in steps and plug-ins have the same shape."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import msgspec

from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.core.pages.extraction import Item


class PageContext(msgspec.Struct, frozen=True):
    """What a step may want to know about the page a value comes from."""

    url: str
    base: str
    """What relative links of the page are joined to."""
    fetched_at: float


class StepFailed(Exception):
    """The value is not what the step needs; `reason` reads on from it: `is not a number`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@runtime_checkable
class ValueStep(Protocol):
    """1. Pure: the same value gives the same result. 2. Never sees null, unless `takes_null`.
    3. Raises only `StepFailed`; what then happens (null, keep, reject) is the task's choice (`on_error`).
    4. Lists are treated value by value, unless `takes_lists`.
    """

    kind: ColumnKind | None
    """The kind of column it makes; None: the kind stays."""
    takes_null: bool
    takes_lists: bool
    is_check: bool
    """It lets a value pass or not; one that fails rejects the item unless the task says otherwise."""

    def apply(self, value: Any, context: PageContext) -> Any:
        """The value as it should be."""


@runtime_checkable
class ItemStep(Protocol):
    """Treats an item as a whole. Promises 1 and 3 as above; the item given may be changed and returned."""

    def apply_item(self, item: Item, context: PageContext) -> Item:
        """The item as it should be."""

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """The columns after this step."""


class ValueRejected(Exception):
    """A value that costs its item: which step refused it, why, and what it was."""

    def __init__(self, step: str, reason: str, value: Any) -> None:
        super().__init__(reason)
        self.step = step
        self.reason = reason
        self.value = value


class StepChain(Protocol):
    """The steps of one rule, put together."""

    kind: ColumnKind | None
    """The kind of column they make; None: the kind stays."""

    def apply(self, value: Any, context: PageContext, item: int) -> Any:
        """The value after all steps, None when one of them could not make sense of it; raises `ValueRejected`.

        `item` is the number of the item on its page, for the cleaning log.
        """


class StepChainCompiler(Protocol):
    """Makes chains."""

    def __call__(self, steps: tuple[dict[str, Any], ...], path: str) -> StepChain:
        """The steps of the rule at a path of the task; raises `TaskInvalid` naming all that are wrong."""
