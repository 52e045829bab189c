"""`results show`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.results.options import JSON_LINES, LIMIT, RUN, TASK, WHERE
from smartspider.cli.target import Target, collect, with_target
from smartspider.cli.terminal.output import print_message, printed
from smartspider.core.plurals import count
from smartspider.core.runs.run import run_of

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.results import ResultView
    from smartspider.views.runs import RunView


class RowList(msgspec.Struct, frozen=True):
    """Rows of a run, all or those that match a condition."""

    run: RunView
    rows: list[ResultView]
    limit: int
    is_filtered: bool


def _print_rows(found: RowList) -> None:
    from smartspider.cli.terminal.tables import print_table

    rows = [msgspec.json.decode(one.data) for one in found.rows]
    if rows:
        print_table(rows, list(dict.fromkeys(name for row in rows for name in row)))
    shown = count(len(rows), "row")
    if found.is_filtered:
        shown = f"{'at least ' if len(rows) == found.limit else ''}{shown} matched,"
    print_message(f"{shown} of {found.run.items} in run {found.run.run_id}")


@click.command()
@RUN
@TASK
@LIMIT
@click.option("--fields", default=None, metavar="A,B", help="Show only these fields, in this order.")
@WHERE
@click.option(
    "--sort", default=None, metavar="FIELD", help="Sort by this field; -FIELD sorts in descending order."
)
@click.option(
    "--row", type=click.IntRange(1), default=None, metavar="ID", help="Show only the row with this id."
)
@with_target
@printed(_print_rows, to_json=lambda found: [one.data for one in found.rows], per_line=True, about=JSON_LINES)
def show(
    run_id: str | None, task: str | None, row: int | None, limit: int, target: Target, **choice: Any
) -> RowList:
    """Show the rows a run has stored so far."""

    async def find(operations: AllOperations) -> RowList:
        from smartspider.cli.runs.lookup import find_run

        if row is not None:
            found = await operations.get_result(str(row))
            return RowList(await operations.get_run(found.run_id), [found], 1, is_filtered=False)
        run = await find_run(operations, run_id, task)
        rows = await collect(partial(operations.list_results, run_id=run.run_id, **choice), limit)
        return RowList(run, rows, limit, is_filtered=bool(choice["where"]))

    return target.run_at(run_id if row is None else str(run_of(row)), find, task=task)
