"""`drop`: fields that are not wanted in the rows."""

from __future__ import annotations

from smartspider.core.columns import Column
from smartspider.core.extraction import Item
from smartspider.interfaces.step import Around
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.paths import dropped


class DropStep:
    """Takes `fields` out of the item."""

    def __init__(self, *, fields: list[str] | None = None) -> None:
        if not fields:
            raise OptionWrong("fields", "the key 'fields' is missing", "the fields to leave out")
        self.names = tuple(fields)

    def treat_item(self, item: Item, _: Around) -> Item:
        """The item without them."""
        for name in self.names:
            if name in item:
                del item[name]
            elif "." in name:
                item = dropped(item, tuple(name.split(".")))
        return item

    def columns(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The columns that are left."""
        return tuple(column for column in columns if column.name not in self.names)
