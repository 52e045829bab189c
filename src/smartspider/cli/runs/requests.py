"""`run failures|pages`: the requests of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.target import Target, collect, limit_option, with_target
from smartspider.cli.terminal.output import count, print_line, print_message, printed

if TYPE_CHECKING:
    from smartspider.views.runs import FailureView, PageView

RUN = click.argument("run_id", metavar="RUN")
LIMIT = limit_option(20, "requests")
STATES = ("open", "done", "redirect", "missing", "skipped", "dead", "broken")


def _print_failures(found: tuple[str, list[FailureView]]) -> None:
    from smartspider.cli.terminal.tables import cell_text

    run_id, failed = found
    for one in failed:
        print_line(f"{one.state:<7} {cell_text(one.url)}  {cell_text(one.reason)}".rstrip())
    print_message(f"{count(len(failed), 'failure')} of run {run_id}")


def _print_pages(found: tuple[str, list[PageView]]) -> None:
    from smartspider.cli.terminal.tables import cell_text

    run_id, requests = found
    for one in requests:
        status = "" if one.status is None else str(one.status)
        outcome = f"{one.state:<8} {status:<3}  {one.items:>4} items"
        print_line(f"{outcome}  {cell_text(one.url)}  {cell_text(one.reason)}".rstrip())
    print_message(f"{count(len(requests), 'request')} of run {run_id}")


@click.command()
@RUN
@LIMIT
@with_target
@printed(_print_failures, to_json=lambda found: found[1])
def failures(run_id: str, limit: int, target: Target) -> tuple[str, list[FailureView]]:
    """Show requests of a run that failed or could not be parsed, with the reasons."""
    found = target.run(lambda operations: collect(partial(operations.list_run_failures, run_id), limit))
    return run_id, found


@click.command()
@RUN
@click.option("--state", type=click.Choice(STATES), default=None, help="Only requests in this state.")
@LIMIT
@with_target
@printed(_print_pages, to_json=lambda found: found[1])
def pages(run_id: str, state: Any, limit: int, target: Target) -> tuple[str, list[PageView]]:
    """Show the requests of a run in discovery order, with their outcomes."""
    found = target.run(
        lambda operations: collect(partial(operations.list_run_pages, run_id, state=state), limit)
    )
    return run_id, found
