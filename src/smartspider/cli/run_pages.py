"""`run failures|pages`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from smartspider.cli.place import JSON, Place, first, placed

RUN = click.argument("run_id", metavar="RUN")
LIMIT = click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most."
)
STATES = ("open", "done", "redirect", "missing", "skipped", "dead", "broken")


@click.command()
@RUN
@LIMIT
@placed
@JSON
def failures(run_id: str, limit: int, place: Place, *, as_json: bool) -> None:
    """Show requests of a run that were given up or could not be read, and why."""
    from smartspider.cli.output import count, print_json, say, tell
    from smartspider.cli.tables import cell

    found = place.do(lambda office: first(partial(office.list_run_failures, run_id), limit))
    if as_json:
        print_json(found)
        return
    for one in found:
        tell(f"{one.state:<7} {cell(one.url)}  {cell(one.reason)}".rstrip())
    say(f"{count(len(found), 'failure')} of run {run_id}")


@click.command()
@RUN
@click.option("--state", type=click.Choice(STATES), default=None, help="Only in this state.")
@LIMIT
@placed
@JSON
def pages(run_id: str, state: Any, limit: int, place: Place, *, as_json: bool) -> None:
    """Show requests of a run, in the order they were found, and what came of them."""
    from smartspider.cli.output import count, print_json, say, tell
    from smartspider.cli.tables import cell

    found = place.do(lambda office: first(partial(office.list_run_pages, run_id, state=state), limit))
    if as_json:
        print_json(found)
        return
    for one in found:
        status = "" if one.status is None else str(one.status)
        tell(
            f"{one.state:<8} {status:<3}  {one.items:>4} items  {cell(one.url)}  {cell(one.reason)}".rstrip()
        )
    say(f"{count(len(found), 'request')} of run {run_id}")
