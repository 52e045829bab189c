"""`results show`: rows for a person's eyes, or as JSON lines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.place import Place, first, placed
from smartspider.cli.results_options import LIMIT, LINES, RUN, TASK

if TYPE_CHECKING:
    from smartspider.cli.place import Office
    from smartspider.views.results import ResultView
    from smartspider.views.runs import RunView


@click.command()
@RUN
@TASK
@LIMIT
@click.option("--fields", default=None, metavar="A,B", help="Only these fields, in this order.")
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only rows with FIELD=VALUE, !=, <, <=, >, >=, FIELD~PART or FIELD?; all that are given must hold.",
)
@click.option("--sort", default=None, metavar="FIELD", help="Sorted by this field; -FIELD turns it around.")
@placed
@LINES
def show(
    run_id: str | None, task: str | None, limit: int, place: Place, *, as_json: bool, **choice: Any
) -> None:
    """Show rows of a run, as far as it has come."""
    import msgspec

    from smartspider.cli.output import count, say, tell_json
    from smartspider.cli.runs import chosen_run
    from smartspider.cli.tables import show_rows

    async def look(office: Office) -> tuple[RunView, list[ResultView]]:
        run = await chosen_run(office, run_id, task)
        return run, await first(partial(office.list_results, run_id=run.run_id, **choice), limit)

    run, found = place.do(look, task=task)
    if as_json:
        for one in found:
            tell_json(one.data)
        return
    rows = [msgspec.json.decode(one.data) for one in found]
    if rows:
        show_rows(rows, list(dict.fromkeys(name for row in rows for name in row)))
    shown = count(len(rows), "row")
    say(f"{shown} {'as asked for, ' if choice['where'] else ''}of {run.items} in run {run.run_id}")
