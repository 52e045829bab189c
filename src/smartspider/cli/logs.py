"""`logs`: log lines, past and new."""

from __future__ import annotations

import sys
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.target import Target, collect, limit_option, local_installation, with_target
from smartspider.cli.terminal.output import json_option, print_json_line, print_line, print_message

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.logs import LogView

LEVELS = ("debug", "info", "warning", "error")


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Follow new lines until Ctrl-C.")
@click.option(
    "--run", "run_id", default=None, metavar="RUN", help="Only lines of this run.  [default: the newest]"
)
@click.option(
    "--all", "shows_all", is_flag=True, help="Lines of all runs and processes, not only of the newest run."
)
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
def logs(limit: int, target: Target, *, follow: bool, shows_all: bool, as_json: bool, **filters: Any) -> None:
    """Show log lines, newest last.

    In data folders these are the lines of the newest run, unless --run, --task, --worker, --data or --all is
    given. A server shows the lines of all runs and of its processes.
    """
    from smartspider.cli.times import parse_time

    chosen = {**filters, "since": parse_time(filters["since"]), "until": parse_time(filters["until"])}
    is_newest = not (
        shows_all or target.data or any(filters[name] for name in ("run_id", "task_id", "worker"))
    )

    async def show(operations: AllOperations) -> None:
        arguments = {**chosen, "run_id": await _newest_run_id(operations)} if is_newest else chosen
        found = await collect(partial(operations.list_logs, **arguments), limit)
        last_id = found[0].id if found else "0"
        found.reverse()
        found.sort(key=lambda line: line.at)  # processes write their lines in turns
        for line in found:
            _print_log(line, as_json=as_json)
        if not found and not follow:
            print_message("no log lines match")
        if follow:
            await _follow(operations, arguments, last_id, as_json=as_json)

    if shows_all:
        target.run(show)
    else:
        target.run_at(filters["run_id"], show, task=filters["task_id"])


async def _newest_run_id(operations: AllOperations) -> str | None:
    """Return the newest run of a data folder; None for a server or cluster, and without runs."""
    from smartspider.cli.runs.lookup import find_run_id
    from smartspider.core.errors import NotFound

    installation = local_installation(operations)
    if installation is None or installation.is_cluster:
        return None
    try:
        return await find_run_id(operations, None)
    except NotFound:
        return None


async def _follow(operations: AllOperations, arguments: Any, after: str, *, as_json: bool) -> None:
    """Print new lines until the command is interrupted."""
    sys.stdout.flush()
    async with aclosing(operations.tail_logs(after=after, **arguments)) as lines:
        async for line in lines:
            _print_log(line, as_json=as_json)
            sys.stdout.flush()


def _print_log(line: LogView, *, as_json: bool) -> None:
    from smartspider.views.logs import log_text

    if as_json:
        print_json_line(line)
    else:
        print_line(log_text(line))
