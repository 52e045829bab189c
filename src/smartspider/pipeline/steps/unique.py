"""`unique`: items that are the same by some of their fields are stored once."""

from __future__ import annotations

from smartspider.core.columns import Column
from smartspider.core.extraction import Item
from smartspider.interfaces.step import Around
from smartspider.pipeline.options import OptionWrong


class UniqueStep:
    """Two items with equal `fields` are one; without `fields` all of their content is compared. The step
    itself changes nothing: the ledger compares, as with `dedup.items`, what items are after all steps.
    """

    def __init__(self, *, fields: list[str] | None = None) -> None:
        if fields is not None and not fields:
            raise OptionWrong("fields", "is empty", "leave it out to compare everything")
        self.names = tuple(fields or ())

    def treat_item(self, item: Item, _: Around) -> Item:
        """The item as it is."""
        return item

    def columns(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The same."""
        return columns
