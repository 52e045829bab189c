"""`run list|show|delete`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.target import Target, collect, local_installation, with_target
from smartspider.cli.terminal.output import print_line, print_message, printed
from smartspider.cli.terminal.streams import coloured_state

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.runs import MetricsView, ReceiptView, RunView

STATES = ("queued", "running", "paused", "stopping", "stopped", "cancelled", "completed", "failed")


class RunList(msgspec.Struct, frozen=True):
    """Runs in certain states, or all of them."""

    runs: list[RunView]
    is_filtered: bool


class DeletedRun(msgspec.Struct, frozen=True):
    """The result of a deletion."""

    run_id: str
    compacted: bool = False
    """True if the space of its rows was freed."""
    trouble: str = ""
    """The reason why it was not, in a data folder."""


def _print_runs(found: RunList) -> None:
    if not found.runs:
        none = "no runs yet; `smartspider run start NAME` starts one"
        print_message("no matching runs" if found.is_filtered else none)
    for one in found.runs:
        done = f"{one.success_count} pages  {one.items} items"
        task = f"{one.task} (version {one.version})"
        state = coloured_state(one.state, sys.stdout, width=10)
        print_line(f"{one.run_id:>4}  {state} {task}  {done}  {one.reason}".rstrip())


def _print_run(found: tuple[MetricsView, ReceiptView]) -> None:
    from smartspider.cli.runs.rendering import run_lines

    for line in run_lines(*found):
        print_line(line)


def _run_json(found: tuple[MetricsView, ReceiptView]) -> dict[str, Any]:
    from smartspider.cli.runs.rendering import run_details

    return run_details(*found)


def _deleted_message(gone: DeletedRun) -> str:
    text = f"run {gone.run_id} is deleted"
    return f"{text}\nnote: its space is freed at the next delete ({gone.trouble})" if gone.trouble else text


@click.command("list")
@click.option("--task", default=None, metavar="NAME", help="Only runs of this task.")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only runs in this state.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Maximum number of runs.  [default: all]")
@with_target
@printed(_print_runs, to_json=lambda found: found.runs)
def list_runs(task: str | None, states: tuple[Any, ...], limit: int | None, target: Target) -> RunList:
    """List runs, newest first."""
    runs = target.run(
        lambda operations: collect(partial(operations.list_runs, task_id=task, state=states), limit),
        task=task,
    )
    return RunList(runs, is_filtered=bool(states))


@click.command("show")
@click.argument("run_id", metavar="RUN")
@with_target
@printed(_print_run, to_json=_run_json)
def show_run(run_id: str, target: Target) -> tuple[MetricsView, ReceiptView]:
    """Show the counters, step statistics and hosts of a run."""

    async def find(operations: AllOperations) -> tuple[MetricsView, ReceiptView]:
        return await operations.get_run_metrics(run_id), await operations.get_run_receipt(run_id)

    return target.run(find)


@click.command("delete")
@click.argument("run_id", metavar="RUN")
@with_target
@printed(
    message=_deleted_message,
    to_json=lambda gone: {"run_id": gone.run_id, "deleted": True, "compacted": gone.compacted},
)
def delete(run_id: str, target: Target) -> DeletedRun:
    """Delete a run with its rows and logs. In a data folder the space is freed at once."""

    async def remove(operations: AllOperations) -> DeletedRun:
        from smartspider.installation.data_folder import DataFolder

        installation = local_installation(operations)
        if not isinstance(installation, DataFolder):
            await operations.delete_run(run_id)
            return DeletedRun(run_id)
        from smartspider.services.inputs import parse_id
        from smartspider.wiring.deletion import delete_local_run

        trouble = await delete_local_run(installation, parse_id(run_id, "run"))
        return DeletedRun(run_id, compacted=not trouble, trouble=trouble)

    return target.run(remove)


async def find_run(operations: AllOperations, run_id: str | None, task: str | None = None) -> RunView:
    """Return the run with this id, or the newest run of a task or of all tasks; raise `NotFound`."""
    from smartspider.core.errors import NotFound

    if run_id is not None:
        return await operations.get_run(run_id)
    found = (await operations.list_runs(task_id=task, limit=1)).items
    if found:
        return found[0]
    of_task = "" if task is None else f" of the task {task!r}"
    installation = local_installation(operations)
    if installation is not None and not installation.is_cluster:
        hint = "`smartspider crawl TASK` starts one"
    else:
        hint = f"`smartspider run start {task or 'NAME'}` starts one"
    raise NotFound(f"there is no run{of_task} yet", hint=hint)
