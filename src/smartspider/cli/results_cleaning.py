"""`results cleaning`: what steps made of values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.place import Place, first, placed
from smartspider.cli.results_options import LIMIT, LINES, RUN, TASK

if TYPE_CHECKING:
    from smartspider.cli.place import Office


@click.command()
@RUN
@TASK
@click.option("--field", default=None, metavar="NAME", help="Only this field.")
@click.option(
    "--step", default=None, metavar="NAME", help="Only this step: `number`, or `pipeline[2] number`."
)
@LIMIT
@placed
@LINES
def cleaning(
    run_id: str | None, task: str | None, limit: int, place: Place, *, as_json: bool, **only: Any
) -> None:
    """Show the cleaning log of a run: each value before and after each step (`cleaning_log` in the task)."""
    from smartspider.cli.output import count, say, tell, tell_json
    from smartspider.cli.results_rejects import in_short
    from smartspider.cli.runs import chosen_run

    async def look(office: Office) -> None:
        run = await chosen_run(office, run_id, task)
        found = await first(partial(office.list_cleaning, run_id=run.run_id, **only), limit)
        for one in found:
            if as_json:
                tell_json(one)
                continue
            what = f"{one.field}: {in_short(one.before)} → {in_short(one.after)}"
            tell(f"{what}  {one.step}  item {one.item} of {one.url}")
        say(f"{count(len(found), 'change')} of run {run.run_id}")
        if not found and not any(only.values()):
            say('note: the log is kept where the task says "cleaning_log": true')

    place.do(look, task=task)
