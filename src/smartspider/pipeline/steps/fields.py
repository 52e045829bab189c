"""Steps on fields of an item: `drop`, `rename`, `template`, `unique`."""

from __future__ import annotations

import re
from typing import Any

from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.paths import drop_field, value_at
from smartspider.pipeline.steps.base import Converter
from smartspider.pipeline.steps.lists import to_text
from smartspider.plugins.options import InvalidOption


class DropStep:
    """Removes `fields` from the item."""

    def __init__(self, *, fields: list[str] | None = None) -> None:
        if not fields:
            raise InvalidOption("fields", "the key 'fields' is missing", "list the fields to drop")
        self.names = tuple(fields)

    def apply_item(self, item: Item, _: PageContext) -> Item:
        """Return the item without the fields."""
        for name in self.names:
            if name in item:
                del item[name]
            elif "." in name:
                item = drop_field(item, tuple(name.split(".")))
        return item

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """Return the remaining columns."""
        return tuple(column for column in columns if column.name not in self.names)


class RenameStep:
    """Renames the field in `fields` to `to`, or several fields if `to` is `{"old": "new"}`. A field keeps its
    position; one from inside an object (`seller.name`) goes last.
    """

    def __init__(self, *, to: str | dict[str, str], fields: list[str] | None = None) -> None:
        if isinstance(to, dict):
            if fields and set(fields) != set(to):
                raise InvalidOption("fields", "names other fields than 'to'", "remove 'fields'")
            self.mapping = to
        elif not fields or len(fields) != 1:
            raise InvalidOption(
                "fields", "a new name needs exactly one field", 'or write "to": {"old": "new"}'
            )
        else:
            self.mapping = {fields[0]: to}
        if not self.mapping or not all(self.mapping.values()):
            raise InvalidOption("to", "is empty", "the new name")
        if len(set(self.mapping.values())) < len(self.mapping):
            raise InvalidOption("to", "gives two fields one name")

    def apply_item(self, item: Item, _: PageContext) -> Item:
        """Return the item with the new names."""
        for old, new in self.mapping.items():
            if old not in item and "." in old:
                path = tuple(old.split("."))
                if path[0] in item:
                    moved = value_at(item, path)
                    item = drop_field(item, path)
                    item[new] = moved
        return {self.mapping.get(name, name): value for name, value in item.items()}

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """Return the columns with the new names."""
        known = [column.name for column in columns]
        moved = [TableColumn(new, "json") for old, new in self.mapping.items() if old not in known]
        return (*(TableColumn(self.mapping.get(each.name, each.name), each.kind) for each in columns), *moved)


_NAME = re.compile(r"\{([\w][\w .-]*)\}")
_LONGEST_TEXT = 20_000_000
_VALUE = "value"


class TemplateStep(Converter):
    """Writes `text` to new or existing `fields`, replacing `{field}` and `{seller.name}` with values of the
    item; null if all of them are missing. In rule steps `{value}` is the value. Other braces stay.
    """

    kind: ColumnKind | None = "text"
    takes_lists = False

    def __init__(self, *, text: str, fields: list[str] | None = None) -> None:
        self._parts = _NAME.split(text)
        self.names = tuple(dict.fromkeys(self._parts[1::2]))
        self._targets = tuple(fields or ())
        if any("." in name for name in self._targets):
            raise InvalidOption("fields", "a template writes whole fields", "a name without a dot")

    def apply(self, value: Any, _: PageContext) -> str:
        """Return the text for one value."""
        return self._filled({_VALUE: value})

    def apply_item(self, item: Item, _: PageContext) -> Item:
        """Return the item with the text in its fields."""
        found = {
            name: item[name] if name in item else value_at(item, tuple(name.split(".")))
            for name in self.names
        }
        text = None if self.names and all(value is None for value in found.values()) else self._filled(found)
        for name in self._targets:
            item[name] = text
        return item

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """Return the columns with those it writes as text, new ones last."""
        known = {column.name: column for column in columns}
        return tuple({**known, **{name: TableColumn(name) for name in self._targets}}.values())

    def _filled(self, values: dict[str, Any]) -> str:
        texts = {name: "" if value is None else to_text(value) for name, value in values.items()}
        parts = [texts.get(part, "") if index % 2 else part for index, part in enumerate(self._parts)]
        if sum(map(len, parts)) > _LONGEST_TEXT:
            raise StepFailed("would make a text that is too long")
        return "".join(parts)


class UniqueStep:
    """Items with equal `fields` are stored once; without `fields` the whole content is compared. The step
    changes nothing: the ledger compares items after all steps, as for `dedup.items`.
    """

    def __init__(self, *, fields: list[str] | None = None) -> None:
        if fields is not None and not fields:
            raise InvalidOption("fields", "is empty", "remove it to compare all fields")
        self.names = tuple(fields or ())

    def apply_item(self, item: Item, _: PageContext) -> Item:
        """Return the item unchanged."""
        return item

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """Return the columns unchanged."""
        return columns
