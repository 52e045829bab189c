"""The columns of a task's rows, and their published form."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import msgspec

from smartspider.core.items.columns import TableColumn
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.pipeline import columns, item_schema
from smartspider.pipeline.compile import FindStep
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve

find_step: FindStep = partial(resolve, STEP)


def columns_of(plan: Plan) -> tuple[TableColumn, ...]:
    """The columns of the rows after all steps, in task order, of all page types whose items are rows."""
    return columns.row_columns(plan, find_step)


def plan_of_run(run: Run) -> Plan:
    """The plan of a run, from its task as it was when the run was created."""
    return _plan(run.spec)


def columns_of_run(run: Run) -> tuple[TableColumn, ...]:
    """The columns of a run's rows."""
    return _columns(run.spec)


@lru_cache(maxsize=64)
def _plan(spec: bytes) -> Plan:
    from smartspider.taskfile.compile import compile_task
    from smartspider.taskfile.load import parse_task

    return compile_task(parse_task(msgspec.json.decode(spec)))


@lru_cache(maxsize=256)
def _columns(spec: bytes) -> tuple[TableColumn, ...]:
    return columns_of(_plan(spec))


def schema_of(plan: Plan) -> dict[str, Any]:
    """The JSON Schema that every row of the task fulfils."""
    return item_schema.item_schema(plan, find_step)
