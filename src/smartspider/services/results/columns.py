"""The columns of the rows of a run, as far as only the rows know them."""

from __future__ import annotations

from smartspider.core.items.columns import TableColumn
from smartspider.core.runs.plan import Plan
from smartspider.outputs.cells import decode_row
from smartspider.services.plans import plan_columns
from smartspider.store.runs.store import RunStore


async def stored_columns(store: RunStore, run_id: int, plan: Plan) -> tuple[TableColumn, ...]:
    """Return the columns of the rows of a run. A function of a Python file may add fields that the task does
    not declare: they follow the others, in the order in which they were first stored.
    """
    columns = plan_columns(plan)
    if not plan.runs_functions:
        return columns
    names = dict.fromkeys(column.name for column in columns)
    declared = len(names)
    async for batch in store.items(run_id):
        for item in batch:
            names.update(dict.fromkeys(decode_row(item.data)))
    return (*columns, *(TableColumn(name, "json") for name in list(names)[declared:]))
