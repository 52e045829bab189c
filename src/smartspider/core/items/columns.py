"""Columns of a table of items: name and kind of value; kinds of values, and their merging."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

ColumnKind = Literal["text", "number", "integer", "boolean", "datetime", "json"]
"""`number` is an int or float, `datetime` an ISO 8601 string, `json` a list, an object or any value."""


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table of items. Every column is nullable."""

    name: str
    kind: ColumnKind = "text"


def infer_kind(value: Any) -> ColumnKind:
    """Return the column kind of a JSON value."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "text"
        case _:
            return "json"


def merge_kinds(kinds: Iterable[ColumnKind]) -> ColumnKind | None:
    """Return the narrowest kind that holds all given kinds; None for none."""
    found = set(kinds)
    if len(found) <= 1:
        return found.pop() if found else None
    if found == {"integer", "number"}:
        return "number"
    return "text" if found == {"text", "datetime"} else "json"
