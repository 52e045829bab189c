"""Columns of a table of items: name and kind of value."""

from __future__ import annotations

from typing import Literal

import msgspec

ColumnKind = Literal["text", "number", "integer", "boolean", "datetime", "json"]
"""`number` is an int or float, `datetime` an ISO 8601 string, `json` a list, an object or any value."""


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table of items. Every column is nullable."""

    name: str
    kind: ColumnKind = "text"
