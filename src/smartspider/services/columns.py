"""The columns of a task's rows, and their published form."""

from __future__ import annotations

from functools import partial
from typing import Any

from smartspider.core.columns import Column
from smartspider.core.plan import Plan
from smartspider.pipeline import columns, item_schema
from smartspider.pipeline.compile import Find
from smartspider.plugins.registry import resolve

find_step: Find = partial(resolve, "step")


def columns_of(plan: Plan) -> tuple[Column, ...]:
    """The columns of the rows after all steps, in task order, of all page types whose items are rows."""
    return columns.columns_of(plan, find_step)


def schema_of(plan: Plan) -> dict[str, Any]:
    """The JSON Schema that every row of the task fulfils."""
    return item_schema.item_schema(plan, find_step)
