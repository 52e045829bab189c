"""`run start|demo|watch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.runs.lookup import RUN_OR_NEWEST, find_run
from smartspider.cli.target import Target, with_target
from smartspider.cli.terminal.output import json_option

if TYPE_CHECKING:
    from smartspider.operations.runs import DemoName
    from smartspider.operations.table import AllOperations
    from smartspider.views.runs import Begun


@click.command()
@click.argument("task")
@click.option(
    "--version", type=click.IntRange(1), default=None, help="Version of the task.  [default: the newest]"
)
@click.option("--overlap", is_flag=True, help="Start even if another run of the task is unfinished.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Start with this setting, for example delay_s=1.",
)
@click.option("--watch", "watches", is_flag=True, help="Follow the run until it ends.")
@with_target
@json_option()
def start(
    task: str,
    version: int | None,
    settings: tuple[str, ...],
    target: Target,
    *,
    overlap: bool,
    watches: bool,
    as_json: bool,
) -> int:
    """Start a run of a saved task (`task apply`). The workers of the server process it."""
    from smartspider.cli.runs.control import parse_tuning
    from smartspider.wiring import fault_injection

    fault_injection.arm_from_environment()
    tuning = parse_tuning(settings) if settings else None

    async def begin(operations: AllOperations) -> int:
        started = await operations.start_task(task, version=version, overlap=overlap, tuning=tuning)
        return await _report(operations, started, watches=watches, as_json=as_json)

    return target.run(begin, task=task)


async def _report(operations: AllOperations, started: Begun, *, watches: bool, as_json: bool) -> int:
    """Print a started run, and follow it if that is wanted."""
    from smartspider.cli.exit_codes import Exit
    from smartspider.cli.runs.watching import warn_blocked, watch_run
    from smartspider.cli.terminal.output import print_json, print_message

    print_message(f"run {started.run_id} is {started.state}")
    for one in started.warnings:
        print_message(f"note: {one.path}: {one.message}")
    await warn_blocked(operations, started.run_id)
    if watches:
        return await watch_run(operations, started.run_id, as_json=as_json)
    if as_json:
        print_json(started)
    return Exit.OK


@click.command()
@click.argument("name", type=click.Choice(("shop", "trouble")))
@click.option("--watch", "watches", is_flag=True, help="Follow the run until it ends.")
@with_target
@json_option()
def demo(name: DemoName, target: Target, *, watches: bool, as_json: bool) -> int:
    """Save a task for the demo shop of a server (`up --demo`), and start it. `shop` crawls all products,
    `trouble` the pages that fail.
    """

    async def begin(operations: AllOperations) -> int:
        started = await operations.start_demo(name)
        return await _report(operations, started, watches=watches, as_json=as_json)

    return target.run(begin)


@click.command()
@RUN_OR_NEWEST
@click.option(
    "--after", type=click.IntRange(0), default=None, help="With --json: only events after this number."
)
@with_target
@json_option("Print the events as JSON, one per line.")
def watch(run_id: str | None, after: int | None, target: Target, *, as_json: bool) -> int:
    """Follow a run until it ends; the exit code reports the result. Ctrl-C stops watching, not the run."""
    from smartspider.cli.runs.watching import warn_blocked, watch_run

    async def follow(operations: AllOperations) -> int:
        run = await find_run(operations, run_id)
        if run.state in ("queued", "running"):
            await warn_blocked(operations, str(run.run_id))
        return await watch_run(operations, str(run.run_id), as_json=as_json, after=after)

    return target.run_at(run_id, follow)
