"""`run list|show|delete`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from smartspider.core.runs import Run

DATA = click.option(
    "--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def run() -> None:
    """List, show and delete runs."""


@run.command("list")
@DATA
@JSON
def list_runs(data: Path | None, *, as_json: bool) -> None:
    """All runs of a data folder, newest first."""
    from smartspider.cli.output import print_json, tell
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(find_folder(data)) as folder:
        runs = run_loop(folder.store.find_runs())
    if as_json:
        print_json([_summary(one) for one in runs])
        return
    for one in runs:
        counters = one.counters
        done = f"{counters.done} pages  {counters.items} items"
        what = f"{one.task_name} (version {one.task_version})"
        tell(f"{one.id:>4}  {one.state:<10} {what}  {done}  {one.reason}".rstrip())


@run.command("show")
@click.argument("run_id", type=int)
@DATA
@JSON
def show_run(run_id: int, data: Path | None, *, as_json: bool) -> None:
    """One run: its counters, what its steps did and how it treated hosts."""
    import msgspec

    from smartspider.cli.output import print_json, tell
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(find_folder(data)) as folder:
        one = run_loop(folder.store.get_run(run_id))
        receipt = run_loop(folder.store.receipt(run_id))
        steps = run_loop(folder.store.step_counts(run_id))
    counters = msgspec.structs.asdict(one.counters)
    if as_json:
        print_json(
            {
                "run_id": str(one.id),
                "task": one.task_name,
                "task_id": str(one.task_id),
                "task_version": one.task_version,
                "state": one.state,
                "reason": one.reason,
                "counters": counters,
                "in_flight": one.in_flight,
                "steps": steps,
                "receipt": receipt,
            }
        )
        return
    tell(f"run {one.id} of {one.task_name} (version {one.task_version}): {one.state} {one.reason}".rstrip())
    for name, value in counters.items():
        tell(f"  {name:<15} {value}")
    for name, step in steps.items():
        tell(
            f"  step {name}: {step.seen} values, {step.changed} changed, {step.emptied} emptied,"
            f" {step.rejected} rejected"
        )
    for host in receipt:
        tell(f"  host {host.host}: {host.requests} requests, {host.violations} violations")


@run.command("delete")
@click.argument("run_id", type=int)
@DATA
@JSON
def delete(run_id: int, data: Path | None, *, as_json: bool) -> None:
    """Delete a run with all its rows and logs, and give the space back."""
    from smartspider.cli.actor import cli_actor
    from smartspider.cli.output import print_json, say
    from smartspider.wiring.deleting import delete_run
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(find_folder(data), cli_actor()) as folder:
        trouble = run_loop(delete_run(folder, run_id))
    if as_json:
        print_json({"run_id": str(run_id), "deleted": True, "compacted": not trouble})
    say(f"run {run_id} is deleted")
    if trouble:
        say(f"note: its space is given back at the next delete ({trouble})")


def _summary(run: Run) -> dict[str, Any]:
    """The summary of `crawl`, and which task it was."""
    import msgspec

    from smartspider.services.crawl import summarise

    is_timed = run.started_at is not None and run.finished_at is not None
    duration_s = (run.finished_at or 0.0) - (run.started_at or 0.0) if is_timed else 0.0
    shown = msgspec.structs.asdict(summarise(run, duration_s, []))
    return shown | {"task": run.task_name, "task_id": str(run.task_id), "task_version": run.task_version}
