"""Track the shape of columns through steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from smartspider.core.items.columns import ColumnKind, TableColumn, merge_kinds
from smartspider.interfaces.step import ItemStep
from smartspider.pipeline.steps.base import TextStep
from smartspider.pipeline.value_step import OnError


class ColumnShape(NamedTuple):
    """The kind of a column; `is_many` marks a list of values, which steps process one by one."""

    kind: ColumnKind = "text"
    is_many: bool = False
    is_required: bool = False
    """It is never null."""


ColumnTable = dict[str, ColumnShape]


def shape_after(shape: ColumnShape, step: Any, on_error: OnError | None) -> ColumnShape:
    """Return the shape of a column after a value step."""
    return ColumnShape(*_kind_after(shape, step, on_error), _is_required_after(shape, step, on_error))


def table_after(table: ColumnTable, step: ItemStep) -> ColumnTable:
    """Return the table after a step on whole items; unchanged columns keep their shape."""
    renamed = {new: old for old, new in getattr(step, "mapping", {}).items()}
    after: ColumnTable = {}
    for column in step.columns(table_columns(table)):
        before = table.get(renamed.get(column.name, column.name))
        after[column.name] = before if before and before.kind == column.kind else ColumnShape(column.kind)
    return after


def table_columns(table: ColumnTable) -> tuple[TableColumn, ...]:
    """Return the columns of a table."""
    return tuple(TableColumn(name, shape.kind) for name, shape in table.items())


def make_table(columns: Iterable[TableColumn]) -> ColumnTable:
    """Return a table of columns of which only the kind is known."""
    return {column.name: ColumnShape(column.kind) for column in columns}


def _kind_after(shape: ColumnShape, step: Any, on_error: OnError | None) -> tuple[ColumnKind, bool]:
    kind: ColumnKind | None = step.kind
    if getattr(step, "ends_lists", False):
        return ("text", False) if shape.is_many else (shape.kind, False)
    if kind is None:
        also: ColumnKind | None = getattr(step, "also_kind", None)
        return (merge_kinds((shape.kind, also)) or shape.kind if also else shape.kind), shape.is_many
    if shape.is_many and not step.takes_lists:
        return shape.kind, True
    if step.is_check:
        is_finer = on_error in (None, "reject", "null") and not (kind == "text" and shape.kind == "datetime")
        return (kind if is_finer else shape.kind), shape.is_many
    if on_error == "keep":
        kind = merge_kinds((shape.kind, kind)) or kind
    return kind, bool(getattr(step, "makes_lists", False))


def _is_required_after(shape: ColumnShape, step: Any, on_error: OnError | None) -> bool:
    if getattr(step, "ensures_value", False):
        return shape.is_required or on_error in (None, "reject")
    is_safe = step.is_check and on_error != "null"
    return shape.is_required and (is_safe or on_error in ("keep", "reject") or isinstance(step, TextStep))
