"""Columns: the fields of a row by name, with what kind of value stands in them."""

from __future__ import annotations

from typing import Literal

import msgspec

ColumnKind = Literal["text", "number", "integer", "boolean", "datetime", "json"]
"""`number` is an int or float, `datetime` an ISO 8601 text, `json` a list or an object, or anything."""


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table of items. A value may always be null."""

    name: str
    kind: ColumnKind = "text"
