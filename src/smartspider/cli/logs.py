"""`logs`: log lines, past and new."""

from __future__ import annotations

import sys
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.target import Target, collect, limit_option, with_target
from smartspider.cli.terminal.output import json_option, print_json_line, print_line

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.logs import LogView

LEVELS = ("debug", "info", "warning", "error")


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Follow new lines until Ctrl-C.")
@click.option("--run", "run_id", default=None, metavar="RUN", help="Only lines of this run.")
@click.option("--task", "task_id", default=None, metavar="NAME", help="Only lines of this task.")
@click.option("--level", type=click.Choice(LEVELS), default=None, help="Minimum level.")
@click.option("--host", default=None, help="Only lines about this host.")
@click.option(
    "--error", default=None, metavar="TYPE", help="Only lines with this error type: timeout, dns, ..."
)
@click.option("--worker", default=None, metavar="NAME", help="Only lines of this worker or process.")
@click.option("--text", default=None, metavar="WORDS", help="Only lines that contain all of these words.")
@click.option(
    "--since", default=None, metavar="TIME", help="Only lines since this time: 2026-01-31, 10m, 2h, 7d."
)
@click.option("--until", default=None, metavar="TIME", help="Only lines before this time.")
@limit_option(100, "lines")
@with_target
@json_option("Print one JSON object per line.")
def logs(limit: int, target: Target, *, follow: bool, as_json: bool, **filters: Any) -> None:
    """Show log lines, newest last."""
    from smartspider.cli.times import parse_time

    arguments = {**filters, "since": parse_time(filters["since"]), "until": parse_time(filters["until"])}
    print_log = print_json_line if as_json else _print_log

    async def show(operations: AllOperations) -> None:
        found = await collect(partial(operations.list_logs, **arguments), limit)
        for line in reversed(found):
            print_log(line)
        if not follow:
            return
        sys.stdout.flush()
        after = found[0].id if found else "0"
        async with aclosing(operations.tail_logs(after=after, **arguments)) as lines:
            async for line in lines:
                print_log(line)
                sys.stdout.flush()

    target.run(show, task=filters["task_id"])


def _print_log(line: LogView) -> None:
    from smartspider.cli.terminal.tables import cell_text
    from smartspider.cli.times import format_time

    run = "" if line.run_id is None else f"run {line.run_id}"
    parts = (
        format_time(line.at),
        f"{line.level:<7}",
        run,
        line.worker,
        line.event,
        line.text,
        line.url or "",
    )
    print_line("  ".join(cell_text(part) for part in parts if part))
