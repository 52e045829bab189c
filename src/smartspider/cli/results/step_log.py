"""`results rejects|cleaning`: rejected items, and values before and after steps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.results.options import JSON_LINES, LIMIT, RUN, TASK
from smartspider.cli.target import Target, collect, with_target
from smartspider.cli.terminal.output import print_line, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.results import CleaningView, RejectView
    from smartspider.views.runs import RunView


def _print_rejects(found: tuple[RunView, list[RejectView]]) -> None:
    from smartspider.cli.terminal.tables import short_json

    for one in found[1]:
        value = f"{one.field}={short_json(one.value)}" if one.field else ""
        print_line("  ".join(filter(None, (one.reason, value, one.step, one.url))))


@click.command()
@RUN
@TASK
@LIMIT
@with_target
@printed(
    _print_rejects,
    message=lambda found: f"run {found[0].run_id} rejected {count(found[0].rejected, 'item')}",
    to_json=lambda found: found[1],
    per_line=True,
    about=JSON_LINES,
)
def rejects(
    run_id: str | None, task: str | None, limit: int, target: Target
) -> tuple[RunView, list[RejectView]]:
    """Show rejected items of a run with the reason, step and value."""

    async def find(operations: AllOperations) -> tuple[RunView, list[RejectView]]:
        from smartspider.cli.runs.lookup import find_run

        run = await find_run(operations, run_id, task)
        return run, await collect(partial(operations.list_rejects, run_id=run.run_id), limit)

    return target.run_at(run_id, find, task=task)


def _print_changes(found: tuple[str, list[CleaningView]]) -> None:
    from smartspider.cli.terminal.tables import short_json

    for one in found[1]:
        change = f"{one.field}: {short_json(one.before)} → {short_json(one.after)}"
        note = f"  ({one.note})" if one.note else ""
        print_line(f"{change}  {one.step}  item {one.item} of {one.url}{note}")


@click.command()
@RUN
@TASK
@click.option("--field", default=None, metavar="NAME", help="Only this field.")
@click.option(
    "--step", default=None, metavar="NAME", help="Only this step: `number`, or `pipeline[2] number`."
)
@click.option("--page", "page_id", default=None, metavar="ID", help="Only values of this request.")
@LIMIT
@with_target
@printed(
    _print_changes,
    message=lambda found: found[0],
    to_json=lambda found: found[1],
    per_line=True,
    about=JSON_LINES,
)
def cleaning(
    run_id: str | None, task: str | None, limit: int, target: Target, **filters: Any
) -> tuple[str, list[CleaningView]]:
    """Show the cleaning log of a run: each value before and after each step (`cleaning_log` in the task)."""

    async def find(operations: AllOperations) -> tuple[str, list[CleaningView]]:
        from smartspider.cli.runs.lookup import find_run

        run = await find_run(operations, run_id, task)
        found = await collect(partial(operations.list_cleaning, run_id=run.run_id, **filters), limit)
        message = f"{count(len(found), 'change')} of run {run.run_id}"
        if not found and not any(filters.values()):
            message += '\nnote: set "cleaning_log": true in the task to record this log'
        return message, found

    return target.run_at(run_id, find, task=task)
