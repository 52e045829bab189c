"""Derive and merge column kinds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from smartspider.core.items.columns import ColumnKind


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
