"""`run list|show|delete`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.runs.lookup import RUN, RUN_OR_NEWEST, find_interrupted, find_run_id
from smartspider.cli.target import Target, collect, local_installation, with_target
from smartspider.cli.terminal.output import confirm, print_line, print_message, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.runs import MetricsView, ReceiptView, RunView

STATES = ("queued", "running", "paused", "stopping", "stopped", "cancelled", "completed", "failed")
COLUMNS = ("run", "state", "task", "pages", "items", "failed", "created", "folder", "reason")


class ListedRun(msgspec.Struct, frozen=True):
    """A run and its data folder, None if all runs are from one place."""

    folder: Path | None
    run: RunView
    is_interrupted: bool = False
    """The run is running in name only: no worker of its data folder is alive."""


class ShownRun(msgspec.Struct, frozen=True):
    """A run with its counters and its politeness."""

    run: MetricsView
    receipt: ReceiptView
    is_interrupted: bool


class RunList(msgspec.Struct, frozen=True):
    """Runs that match the filters, newest first."""

    runs: list[ListedRun]
    is_filtered: bool


class DeletedRun(msgspec.Struct, frozen=True):
    """The result of a deletion."""

    run_id: str
    compacted: bool = False
    """True if the space of its rows was freed."""
    trouble: str = ""
    """The reason why it was not, in a data folder."""


def _print_runs(found: RunList) -> None:
    from smartspider.cli.runs.rendering import state_and_reason
    from smartspider.cli.terminal.columns import print_columns
    from smartspider.cli.times import format_time

    if not found.runs:
        none = (
            "no runs yet; `smartspider crawl TASK` or, on a server, `smartspider run start NAME` starts one"
        )
        print_message("no matching runs" if found.is_filtered else none)
        return
    rows = [
        (
            *(run.run_id, state, f"{run.task} (version {run.version})", run.success_count, run.items),
            *(run.fail_count or None, format_time(run.created_at), str(one.folder or ""), reason),
        )
        for one in found.runs
        for run in [one.run]
        for state, reason in [state_and_reason(run, is_interrupted=one.is_interrupted)]
    ]
    print_columns(COLUMNS, rows, optional=("created", "folder"))


def _list_json(found: RunList) -> list[dict[str, Any]]:
    return [
        {
            **msgspec.structs.asdict(one.run),
            "interrupted": one.is_interrupted,
            **({} if one.folder is None else {"data": str(one.folder)}),
        }
        for one in found.runs
    ]


def _print_run(found: ShownRun) -> None:
    from smartspider.cli.runs.rendering import run_lines

    for line in run_lines(found.run, found.receipt, is_interrupted=found.is_interrupted):
        print_line(line)


def _run_json(found: ShownRun) -> dict[str, Any]:
    from smartspider.cli.runs.rendering import run_details

    return {**run_details(found.run, found.receipt), "interrupted": found.is_interrupted}


def _deleted_message(gone: DeletedRun) -> str:
    text = f"run {gone.run_id} is deleted"
    return f"{text}\nnote: its space is freed at the next delete ({gone.trouble})" if gone.trouble else text


@click.command("list")
@click.option("--task", default=None, metavar="NAME", help="Only runs of this task.")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only runs in this state.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Maximum number of runs.  [default: all]")
@with_target
@printed(_print_runs, to_json=_list_json)
def list_runs(task: str | None, states: tuple[Any, ...], limit: int | None, target: Target) -> RunList:
    """List runs, newest first: those of all data folders here, of one folder, or of a server."""
    from smartspider.core.errors import NotFound

    async def find(operations: AllOperations) -> tuple[list[RunView], set[str | None]] | NotFound:
        try:
            runs = await collect(partial(operations.list_runs, task_id=task, state=states), limit)
        except NotFound as error:  # the task may be in another folder
            return error
        return runs, await find_interrupted(operations, runs)

    answers = target.run_everywhere(find)
    missing = [answer for _, answer in answers if isinstance(answer, NotFound)]
    if missing and len(missing) == len(answers):
        if answers[0][0] is not None:
            target.folder(task)  # raises an error that names the nearest task, if there is one
        raise missing[0]
    runs = [
        ListedRun(folder, run, run.run_id in answer[1])
        for folder, answer in answers
        if not isinstance(answer, NotFound)
        for run in answer[0]
    ]
    runs.sort(key=lambda one: (one.run.created_at, len(one.run.run_id or ""), one.run.run_id), reverse=True)
    return RunList(runs[:limit], is_filtered=bool(states))


@click.command("show")
@RUN_OR_NEWEST
@with_target
@printed(_print_run, to_json=_run_json)
def show_run(run_id: str | None, target: Target) -> ShownRun:
    """Show the counters, step statistics and hosts of a run, by default of the newest."""

    async def find(operations: AllOperations) -> ShownRun:
        chosen = await find_run_id(operations, run_id)
        run = await operations.get_run_metrics(chosen)
        interrupted = await find_interrupted(operations, [run])
        return ShownRun(run, await operations.get_run_receipt(chosen), bool(interrupted))

    return target.run_at(run_id, find)


@click.command("delete")
@RUN
@click.option("--yes", is_flag=True, help="Delete without asking.")
@with_target
@printed(
    message=_deleted_message,
    to_json=lambda gone: {"run_id": gone.run_id, "deleted": True, "compacted": gone.compacted},
)
def delete(run_id: str, target: Target, *, yes: bool) -> DeletedRun:
    """Delete a run with its rows and logs. In a data folder the space is freed at once.

    On a terminal it asks first.
    """

    async def remove(operations: AllOperations) -> DeletedRun:
        from smartspider.installation.data_folder import DataFolder

        if not yes and sys.stdin.isatty():  # scripts that run without a terminal need no option
            run = await operations.get_run(run_id)
            rows = count(run.items, "row")
            confirm(f"delete run {run_id} of {run.task!r} with {rows}?", "deleting a run", yes=False)

        installation = local_installation(operations)
        if not isinstance(installation, DataFolder):
            await operations.delete_run(run_id)
            return DeletedRun(run_id)
        from smartspider.services.inputs import parse_id
        from smartspider.wiring.deletion import delete_local_run

        trouble = await delete_local_run(installation, parse_id(run_id, "run"))
        return DeletedRun(run_id, compacted=not trouble, trouble=trouble)

    return target.run_at(run_id, remove)
