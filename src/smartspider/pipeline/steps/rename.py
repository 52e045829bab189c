"""`rename`: fields under other names."""

from __future__ import annotations

from smartspider.core.columns import Column
from smartspider.core.extraction import Item
from smartspider.interfaces.step import Around
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.paths import dropped, value_at


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

    def columns(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The columns under their new names."""
        known = [column.name for column in columns]
        moved = [Column(new, "json") for old, new in self.mapping.items() if old not in known]
        return (*(Column(self.mapping.get(each.name, each.name), each.kind) for each in columns), *moved)
