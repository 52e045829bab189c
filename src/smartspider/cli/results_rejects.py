"""`results rejects`: the items that were not kept, and why."""

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
@LIMIT
@placed
@LINES
def rejects(run_id: str | None, task: str | None, limit: int, place: Place, *, as_json: bool) -> None:
    """Show items of a run that were not kept, with the reason, the step and the value."""
    from smartspider.cli.output import count, say, tell, tell_json
    from smartspider.cli.runs import chosen_run

    async def look(office: Office) -> None:
        run = await chosen_run(office, run_id, task)
        for one in await first(partial(office.list_rejects, run_id=run.run_id), limit):
            if as_json:
                tell_json(one)
                continue
            value = f"{one.field}={in_short(one.value)}" if one.field else ""
            tell("  ".join(filter(None, (one.reason, value, one.step, one.url))))
        say(f"run {run.run_id} rejected {count(run.rejected, 'item')}")

    place.do(look, task=task)


def in_short(value: Any) -> str:
    """The beginning of a value as JSON, which tells the text `1` from the number."""
    from smartspider.cli.tables import cell
    from smartspider.outputs.cells import json_text

    return cell(json_text(value))
