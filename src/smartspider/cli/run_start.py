"""`run start|watch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.place import JSON, Place, placed

if TYPE_CHECKING:
    from smartspider.cli.place import Office


@click.command()
@click.argument("task")
@click.option("--version", type=click.IntRange(1), default=None, help="Of the task.  [default: the newest]")
@click.option("--overlap", is_flag=True, help="Also while another run of the task is not over.")
@click.option("--set", "knobs", multiple=True, metavar="KNOB=VALUE", help="Turn a knob from the beginning.")
@click.option("--watch", "watches", is_flag=True, help="Follow it until it is over.")
@placed
@JSON
def start(
    task: str,
    version: int | None,
    knobs: tuple[str, ...],
    place: Place,
    *,
    overlap: bool,
    watches: bool,
    as_json: bool,
) -> int:
    """Start a run of a task that is kept (`task apply`). The workers of the server take it up."""
    from smartspider.cli.exit_codes import Exit
    from smartspider.cli.knobs import parse_knobs
    from smartspider.cli.output import print_json, say
    from smartspider.cli.watching import note_waiting, watch_run
    from smartspider.wiring import faults

    faults.arm_from_environment()
    turned = parse_knobs(knobs) if knobs else None

    async def begin(office: Office) -> int:
        started = await office.start_task(task, version=version, overlap=overlap, tuning=turned)
        say(f"run {started.run_id} is {started.state}")
        for one in started.warnings:
            say(f"note: {one.path}: {one.message}")
        await note_waiting(office, started.run_id)
        if watches:
            return await watch_run(office, started.run_id, as_json=as_json)
        if as_json:
            print_json(started)
        return Exit.OK

    return place.do(begin, task=task)


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option(
    "--after", type=click.IntRange(0), default=None, help="With --json: only events after this number."
)
@placed
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON, one per line.")
def watch(run_id: str, after: int | None, place: Place, *, as_json: bool) -> int:
    """Follow a run until it is over; the exit code says how it ended. Ctrl-C leaves the run alone."""
    from smartspider.cli.watching import note_waiting, watch_run

    async def look(office: Office) -> int:
        if (await office.get_run(run_id)).state in ("queued", "running"):
            await note_waiting(office, run_id)
        return await watch_run(office, run_id, as_json=as_json, after=after)

    return place.do(look)
