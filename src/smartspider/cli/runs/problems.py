"""`run problems|page`: what went wrong in a run, and all about one of its requests."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import click
import msgspec

from smartspider.cli.runs.lookup import RUN_OR_NEWEST, find_run_id
from smartspider.cli.runs.why import print_explanation
from smartspider.cli.target import Target, collect, limit_option, with_target
from smartspider.cli.terminal.output import print_line, print_message, printed
from smartspider.core.frontier.cause import ProblemKind
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.explain import PageDetails, ProblemGroupView


class ProblemList(msgspec.Struct, frozen=True):
    """Groups of problems of a run."""

    run_id: str
    problems: list[Any]


def _print_problems(found: ProblemList) -> None:
    groups: list[ProblemGroupView] = found.problems
    for group in groups:
        at_least = "at least " if group.is_at_least else ""
        what = f"{group.cause} of {group.field or 'an item'}" if group.kind == "rejected" else group.cause
        print_line(f"{at_least}{group.count} {group.kind}: {what} at {group.host}")
        print_line(f"  from {group.first_at} to {group.last_at}")
        print_line(f"  such as {group.example.url} ({' '.join(group.example.reason.split())[:300]})")
        print_line(f"  try: {group.advice}")
    print_message(f"{count(len(groups), 'problem')} of run {found.run_id}")


def _print_page(found: PageDetails) -> None:
    from smartspider.views.logs import log_text

    print_explanation(found.explanation)
    print_line(f"  {'children':<12} {found.children}")
    for change in found.cleaning:
        print_line(
            f"  {'cleaned':<12} {change.field}: {change.before!r} → {change.after!r} ({change.step})"[:200]
        )
    for line in found.logs:
        print_line(f"  {'log':<12} {log_text(line)[:300]}")


@click.command()
@RUN_OR_NEWEST
@click.option(
    "--kind",
    type=click.Choice(get_args(ProblemKind)),
    multiple=True,
    help="Only problems of this kind; repeatable.  [default: all but skipped]",
)
@limit_option(20, "problems")
@with_target
@printed(_print_problems, to_json=lambda found: found.problems)
def problems(run_id: str | None, kind: tuple[Any, ...], limit: int, target: Target) -> ProblemList:
    """Show what went wrong in a run, by cause and host, and what to try."""

    async def find(operations: AllOperations) -> ProblemList:
        chosen = await find_run_id(operations, run_id)
        listed = partial(operations.list_run_problems, chosen, kind=kind)
        return ProblemList(chosen, await collect(listed, limit))

    return target.run_at(run_id, find)


@click.command()
@click.argument("page_id", metavar="ID")
@click.option(
    "--run", "run_id", default=None, metavar="RUN", help="Id of the run.  [default: the newest run]"
)
@with_target
@printed(_print_page, about="Print the request as JSON.")
def page(page_id: str, run_id: str | None, target: Target) -> PageDetails:
    """Show all that is known about a request of a run: why, attempts, items, changed values and log lines.

    `run pages --json` and `run problems --json` show the ids.
    """

    async def find(operations: AllOperations) -> PageDetails:
        return await operations.get_run_page(await find_run_id(operations, run_id), page_id)

    return target.run_at(run_id, find)
