"""`overview`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.target import Target, with_target
from smartspider.cli.terminal.output import print_line, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.views.server import OverviewView

RUN_COLUMNS = ("run", "state", "task", "done", "known", "pages/s", "left", "failed")


def _print_overview(found: OverviewView) -> None:
    from smartspider.cli.terminal.columns import print_columns
    from smartspider.cli.times import format_time

    workers = sum(node.workers for node in found.nodes)
    states = ", ".join(f"{number} {state}" for state, number in sorted(found.runs.items()))
    speed = f"{found.pages_per_s:g} pages/s"
    print_line(f"{states or 'no unfinished run'}; {speed}; {count(workers, 'worker')}")
    for one in found.attention:
        name = f"run {one.subject_id} of {one.subject}" if one.subject_kind == "run" else one.subject
        print_line(f"! {one.kind}  {name}: {one.text}" if name else f"! {one.kind}: {one.text}")
    rows = [
        (
            *(run.run_id, run.state, run.task, run.total - run.queued - run.in_flight, run.total),
            f"{run.pages_per_s:g}",
            "" if run.eta_s is None else f"{run.eta_s:.0f} s",
            run.fail_count or None,
        )
        for run in found.active
    ]
    if rows:
        print_columns(RUN_COLUMNS, rows)
    for due in found.next_firings:
        print_line(f"next: {due.task} at {format_time(due.at)}")


@click.command()
@with_target
@printed(_print_overview)
def overview(target: Target) -> OverviewView:
    """Show active runs, what needs attention, and what is due next."""
    return target.run(lambda operations: operations.get_overview())
