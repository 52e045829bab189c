"""Kinds of columns: what a value is, and what two kinds together are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from smartspider.core.items.columns import ColumnKind


def natural_kind(value: Any) -> ColumnKind:
    """The kind of column a plain value fits in."""
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


def merged(kinds: Iterable[ColumnKind]) -> ColumnKind | None:
    """The narrowest kind that holds all of them; None when there are none."""
    found = set(kinds)
    if len(found) <= 1:
        return found.pop() if found else None
    if found == {"integer", "number"}:
        return "number"
    return "text" if found == {"text", "datetime"} else "json"
