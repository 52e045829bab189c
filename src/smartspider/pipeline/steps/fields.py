"""`drop`: fields that are not wanted in the rows."""

from __future__ import annotations

import re
from typing import Any

from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.paths import dropped, value_at
from smartspider.pipeline.steps.lists import as_text
from smartspider.pipeline.steps.shapes import Converter


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

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """The columns that are left."""
        return tuple(column for column in columns if column.name not in self.names)


class RenameStep:
    """Gives the field named in `fields` the name `to`, or several as `to` says: `{"old": "new"}`. A field
    keeps its place; one from inside an object (`seller.name`) comes last.
    """

    def __init__(self, *, to: str | dict[str, str], fields: list[str] | None = None) -> None:
        if isinstance(to, dict):
            if fields and set(fields) != set(to):
                raise OptionWrong("fields", "names other fields than 'to'", "leave 'fields' out")
            self.mapping = to
        elif not fields or len(fields) != 1:
            raise OptionWrong("fields", "a new name needs exactly one field", 'or write "to": {"old": "new"}')
        else:
            self.mapping = {fields[0]: to}
        if not self.mapping or not all(self.mapping.values()):
            raise OptionWrong("to", "is empty", "the new name")
        if len(set(self.mapping.values())) < len(self.mapping):
            raise OptionWrong("to", "gives two fields one name")

    def treat_item(self, item: Item, _: Around) -> Item:
        """The item with the new names."""
        for old, new in self.mapping.items():
            if old not in item and "." in old:
                path = tuple(old.split("."))
                if path[0] in item:
                    moved = value_at(item, path)
                    item = dropped(item, path)
                    item[new] = moved
        return {self.mapping.get(name, name): value for name, value in item.items()}

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """The columns under their new names."""
        known = [column.name for column in columns]
        moved = [TableColumn(new, "json") for old, new in self.mapping.items() if old not in known]
        return (*(TableColumn(self.mapping.get(each.name, each.name), each.kind) for each in columns), *moved)


_NAME = re.compile(r"\{([\w][\w .-]*)\}")
_LONGEST_TEXT = 20_000_000
_VALUE = "value"


class TemplateStep(Converter):
    """Writes `text` into `fields`, new ones or old ones, with the item's values in place of `{field}` or
    `{seller.name}`; null where all of them are missing. In the steps of a rule `{value}` is the value.
    Other braces stay as they are.
    """

    kind: ColumnKind | None = "text"
    takes_lists = False

    def __init__(self, *, text: str, fields: list[str] | None = None) -> None:
        self._parts = _NAME.split(text)
        self.names = tuple(dict.fromkeys(self._parts[1::2]))
        self._targets = tuple(fields or ())
        if any("." in name for name in self._targets):
            raise OptionWrong("fields", "a template writes whole fields", "a name without a dot")

    def treat(self, value: Any, _: Around) -> str:
        """The text, for one value."""
        return self._filled({_VALUE: value})

    def treat_item(self, item: Item, _: Around) -> Item:
        """The item with the text in it."""
        found = {
            name: item[name] if name in item else value_at(item, tuple(name.split(".")))
            for name in self.names
        }
        text = None if self.names and all(value is None for value in found.values()) else self._filled(found)
        for name in self._targets:
            item[name] = text
        return item

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """The columns with those it writes as text, new ones last."""
        known = {column.name: column for column in columns}
        return tuple({**known, **{name: TableColumn(name) for name in self._targets}}.values())

    def _filled(self, values: dict[str, Any]) -> str:
        texts = {name: "" if value is None else as_text(value) for name, value in values.items()}
        parts = [texts.get(part, "") if index % 2 else part for index, part in enumerate(self._parts)]
        if sum(map(len, parts)) > _LONGEST_TEXT:
            raise StepFailed("would make a text that is too long")
        return "".join(parts)


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

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """The same."""
        return columns
