"""`run series`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.runs.lookup import RUN_OR_NEWEST, find_run_id
from smartspider.cli.target import Target, with_target
from smartspider.cli.terminal.output import print_line, print_message, printed

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.runs import SeriesMark, SeriesView

COLUMNS = ("until", "pages/s", "done", "missing", "failed", "retries", "items", "queued", "in flight")


def _print_series(found: SeriesView) -> None:
    from smartspider.cli.terminal.columns import print_columns
    from smartspider.cli.times import format_time

    if not found.points:
        print_message("nothing was done in this time")
    rows = []
    for one in found.points:
        ended = one.success + one.redirects + one.missing + one.failed
        rate = f"{ended / one.seconds:.1f}" if one.seconds else ""
        counts = (one.success, one.missing, one.failed, one.retries, one.items, one.queued, one.in_flight)
        rows.append((format_time(one.at), rate, *counts))
    if rows:
        print_columns(COLUMNS, rows)
    for mark in found.marks:
        print_line(f"{format_time(mark.at)}  {_mark_text(mark)}")


def _mark_text(mark: SeriesMark) -> str:
    details = ", ".join(f"{name} {value}" for name, value in mark.data.items() if value not in ("", None))
    return f"{mark.event}: {details}"


@click.command()
@RUN_OR_NEWEST
@click.option("--all", "of_all", is_flag=True, help="All runs together; by default in the last hour.")
@click.option("--since", metavar="TIME", help="From this time on.")
@click.option("--until", metavar="TIME", help="Up to this time.")
@click.option("--points", type=click.IntRange(1, 500), default=20, show_default=True, help="Periods.")
@with_target
@printed(_print_series)
def series(
    run_id: str | None, since: str | None, until: str | None, points: int, target: Target, *, of_all: bool
) -> SeriesView:
    """Show what a run did over time, and the events that explain its course."""

    async def read(operations: AllOperations) -> SeriesView:
        if of_all:
            return await operations.get_series(since=since, until=until, points=points)
        found = await find_run_id(operations, run_id)
        return await operations.get_run_series(found, since=since, until=until, points=points)

    return target.run_at(run_id, read)
