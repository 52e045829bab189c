"""The columns of a row on their way through the steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.interfaces.step import ItemStep
from smartspider.pipeline.kinds import merged
from smartspider.pipeline.steps.shapes import TextStep
from smartspider.pipeline.use import OnError


class Shape(NamedTuple):
    """What is known about a column: `is_many` is a list of values, which steps treat value by value."""

    kind: ColumnKind = "text"
    is_many: bool = False
    is_required: bool = False
    """It is never null."""


Table = dict[str, Shape]


def shape_after(shape: Shape, step: Any, on_error: OnError | None) -> Shape:
    """The shape of a column after a value step."""
    return Shape(*_kind_after(shape, step, on_error), _is_required_after(shape, step, on_error))


def table_after(table: Table, step: ItemStep) -> Table:
    """The table after a step on whole items; what the step does not say is taken from before."""
    renamed = {new: old for old, new in getattr(step, "mapping", {}).items()}
    after: Table = {}
    for column in step.columns(columns_in(table)):
        before = table.get(renamed.get(column.name, column.name))
        after[column.name] = before if before and before.kind == column.kind else Shape(column.kind)
    return after


def columns_in(table: Table) -> tuple[TableColumn, ...]:
    """The columns of a table."""
    return tuple(TableColumn(name, shape.kind) for name, shape in table.items())


def table_of(columns: Iterable[TableColumn]) -> Table:
    """A table of columns of which no more is known than their kind."""
    return {column.name: Shape(column.kind) for column in columns}


def _kind_after(shape: Shape, step: Any, on_error: OnError | None) -> tuple[ColumnKind, bool]:
    kind: ColumnKind | None = step.kind
    if getattr(step, "ends_lists", False):
        return ("text", False) if shape.is_many else (shape.kind, False)
    if kind is None:
        also: ColumnKind | None = getattr(step, "also_kind", None)
        return (merged((shape.kind, also)) or shape.kind if also else shape.kind), shape.is_many
    if shape.is_many and not step.takes_lists:
        return shape.kind, True
    if step.is_check:
        is_finer = on_error in (None, "reject", "null") and not (kind == "text" and shape.kind == "datetime")
        return (kind if is_finer else shape.kind), shape.is_many
    if on_error == "keep":
        kind = merged((shape.kind, kind)) or kind
    return kind, bool(getattr(step, "makes_lists", False))


def _is_required_after(shape: Shape, step: Any, on_error: OnError | None) -> bool:
    if getattr(step, "ensures_value", False):
        return shape.is_required or on_error in (None, "reject")
    is_safe = step.is_check and on_error != "null"
    return shape.is_required and (is_safe or on_error in ("keep", "reject") or isinstance(step, TextStep))
