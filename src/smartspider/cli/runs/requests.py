"""`run failures|pages`: the requests of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click
import msgspec

from smartspider.cli.runs.lookup import RUN_OR_NEWEST, find_run_id
from smartspider.cli.target import Target, collect, limit_option, with_target
from smartspider.cli.terminal.output import print_message, printed
from smartspider.core.frontier.cause import CAUSES
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.runs import FailureView, PageView

T = TypeVar("T")

LIMIT = limit_option(20, "requests")
STATES = ("open", "done", "redirect", "missing", "skipped", "dead", "broken")


class RequestList(msgspec.Struct, Generic[T], frozen=True):
    """Requests of a run."""

    run_id: str
    requests: list[T]


def _print_failures(found: RequestList[FailureView]) -> None:
    from smartspider.cli.terminal.columns import print_columns

    if found.requests:
        rows = [(one.state, one.url, one.reason) for one in found.requests]
        print_columns(("state", "url", "reason"), rows)
    print_message(f"{count(len(found.requests), 'failure')} of run {found.run_id}")


def _print_pages(found: RequestList[PageView]) -> None:
    from smartspider.cli.terminal.columns import print_columns

    if found.requests:
        rows = [(one.state, one.status, one.items, one.url, one.reason) for one in found.requests]
        print_columns(("state", "status", "items", "url", "reason"), rows)
    print_message(f"{count(len(found.requests), 'request')} of run {found.run_id}")


@click.command()
@RUN_OR_NEWEST
@LIMIT
@with_target
@printed(_print_failures, to_json=lambda found: found.requests)
def failures(run_id: str | None, limit: int, target: Target) -> RequestList[FailureView]:
    """Show requests of a run that failed or could not be parsed, with the reasons."""

    async def find(operations: AllOperations) -> RequestList[FailureView]:
        chosen = await find_run_id(operations, run_id)
        return RequestList(chosen, await collect(partial(operations.list_run_failures, chosen), limit))

    return target.run_at(run_id, find)


@click.command()
@RUN_OR_NEWEST
@click.option("--state", type=click.Choice(STATES), default=None, help="Only requests in this state.")
@click.option(
    "--cause",
    type=click.Choice(CAUSES),
    default=None,
    help="Only requests that did not succeed for this cause.",
)
@click.option("--host", default=None, help="Only requests to this host.")
@click.option("--status", type=click.IntRange(100, 999), default=None, help="Only answers with this status.")
@click.option("--page", default=None, metavar="TYPE", help="Only requests of this page type.")
@click.option("--url", "q", default=None, metavar="TEXT", help="Only URLs that contain this text.")
@LIMIT
@with_target
@printed(_print_pages, to_json=lambda found: found.requests)
def pages(run_id: str | None, limit: int, target: Target, **only: Any) -> RequestList[PageView]:
    """Show the requests of a run in discovery order, with their outcomes."""

    async def find(operations: AllOperations) -> RequestList[PageView]:
        chosen = await find_run_id(operations, run_id)
        found = await collect(partial(operations.list_run_pages, chosen, **only), limit)
        return RequestList(chosen, found)

    return target.run_at(run_id, find)
