"""`template`: a text made of other fields."""

from __future__ import annotations

import re
from typing import Any

from smartspider.core.columns import Column, Kind
from smartspider.core.extraction import Item
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.paths import value_at
from smartspider.pipeline.steps.lists import as_text
from smartspider.pipeline.steps.shapes import Converter

_NAME = re.compile(r"\{([\w][\w .-]*)\}")
_LONGEST = 20_000_000
_VALUE = "value"


class TemplateStep(Converter):
    """Writes `text` into `fields`, new ones or old ones, with the item's values in place of `{field}` or
    `{seller.name}`; null where all of them are missing. In the steps of a rule `{value}` is the value.
    Other braces stay as they are.
    """

    kind: Kind | None = "text"
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

    def columns(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The columns with those it writes as text, new ones last."""
        known = {column.name: column for column in columns}
        return tuple({**known, **{name: Column(name) for name in self._targets}}.values())

    def _filled(self, values: dict[str, Any]) -> str:
        texts = {name: "" if value is None else as_text(value) for name, value in values.items()}
        parts = [texts.get(part, "") if index % 2 else part for index, part in enumerate(self._parts)]
        if sum(map(len, parts)) > _LONGEST:
            raise StepFailed("would make a text that is too long")
        return "".join(parts)
