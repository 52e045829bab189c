"""`run list|show|delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.place import JSON, Place, first, placed

if TYPE_CHECKING:
    from smartspider.cli.place import Office
    from smartspider.views.runs import MetricsView, ReceiptView, RunView

STATES = ("queued", "running", "paused", "stopping", "stopped", "cancelled", "completed", "failed")


@click.command("list")
@click.option("--task", default=None, metavar="NAME", help="Only runs of this task.")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only in this state.")
@click.option("--limit", type=click.IntRange(1), default=None, help="How many at most.  [default: all]")
@placed
@JSON
def list_runs(
    task: str | None, states: tuple[Any, ...], limit: int | None, place: Place, *, as_json: bool
) -> None:
    """Runs, newest first."""
    from functools import partial

    from smartspider.cli.output import print_json, say, tell

    runs = place.do(
        lambda office: first(partial(office.list_runs, task_id=task, state=states), limit), task=task
    )
    if as_json:
        print_json(runs)
        return
    if not runs:
        say("no such run" if states else "no run yet; `smartspider run start NAME` starts one of a task")
    for one in runs:
        done = f"{one.success_count} pages  {one.items} items"
        what = f"{one.task} (version {one.version})"
        tell(f"{one.run_id:>4}  {one.state:<10} {what}  {done}  {one.reason}".rstrip())


@click.command("show")
@click.argument("run_id", metavar="RUN")
@placed
@JSON
def show_run(run_id: str, place: Place, *, as_json: bool) -> None:
    """One run: its counters, what its steps did and how it treated hosts."""
    from smartspider.cli.output import print_json, tell
    from smartspider.cli.run_view import details, lines

    async def look(office: Office) -> tuple[MetricsView, ReceiptView]:
        return await office.get_run_metrics(run_id), await office.get_run_receipt(run_id)

    one, receipt = place.do(look)
    if as_json:
        print_json(details(one, receipt))
        return
    for line in lines(one, receipt):
        tell(line)


@click.command("delete")
@click.argument("run_id", metavar="RUN")
@placed
@JSON
def delete(run_id: str, place: Place, *, as_json: bool) -> None:
    """Delete a run with all its rows and logs; in a data folder, its space is given back at once."""
    from smartspider.cli.output import print_json, say

    async def remove(office: Office) -> str | None:
        return await office.delete_run(run_id)

    trouble = place.do(remove)
    is_local = place.remote() is None and place.cluster() is None
    if as_json:
        print_json({"run_id": run_id, "deleted": True, "compacted": is_local and not trouble})
    say(f"run {run_id} is deleted")
    if trouble:
        say(f"note: its space is given back at the next delete ({trouble})")


async def chosen_run(office: Office, run_id: str | None, task: str | None = None) -> RunView:
    """The run that is named, or the newest one, of a task or of all."""
    from smartspider.core.errors import NotFound
    from smartspider.services.runs.lookup import START
    from smartspider.wiring.office.local import LocalOffice

    if run_id is not None:
        return await office.get_run(run_id)
    found = (await office.list_runs(task_id=task, limit=1)).items
    if not found:
        of = "" if task is None else f" of the task {task!r}"
        hint = office.how_to_start if isinstance(office, LocalOffice) else START
        if task is not None and hint == START:
            hint = f"`smartspider run start {task}` starts one"
        raise NotFound(f"there is no run{of} yet", hint=hint)
    return found[0]
