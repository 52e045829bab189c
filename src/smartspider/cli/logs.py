"""`logs`: log lines, past and new."""

from __future__ import annotations

import sys
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

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
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    multiple=True,
    help="Minimum level; given more than once: exactly these levels.",
)
@click.option("--host", default=None, help="Only lines about this host.")
@click.option("--url", default=None, help="Only lines about this URL.")
@click.option(
    "--error", default=None, metavar="TYPE", help="Only lines with this error type: timeout, dns, ..."
)
@click.option("--worker", default=None, metavar="NAME", help="Only lines of this worker or process.")
@click.option("--text", default=None, metavar="WORDS", help="Only lines that contain all of these words.")
@click.option(
    "--since", default=None, metavar="TIME", help="Only lines since this time: 2026-01-31, 10m, 2h, 7d."
)
@click.option("--until", default=None, metavar="TIME", help="Only lines before this time.")
@click.option(
    "--around", default=None, metavar="LINE", help="The line with this id, and those before and after it."
)
@click.option(
    "--context",
    type=click.IntRange(0, 500),
    default=20,
    show_default=True,
    help="Number of lines before and after --around.",
)
@click.option(
    "--histogram", "counts", is_flag=True, help="Count the lines over time instead of showing them."
)
@click.option(
    "--points",
    type=click.IntRange(1, 200),
    default=60,
    show_default=True,
    help="Number of lines that --histogram prints.",
)
@limit_option(100, "lines")
@with_target
@json_option("Print one JSON object per line.")
def logs(target: Target, *, shows_all: bool, **options: Any) -> None:
    """Show log lines, newest last.

    In data folders these are the lines of the newest run, unless --run, --task, --worker, --data or --all is
    given. A server shows the lines of all runs and of its processes. --histogram counts those of
    the last hour, or since --since.
    """
    from smartspider.cli.times import parse_time

    asked = LogsOptions(**{name: options.pop(name) for name in LogsOptions._fields})
    chosen = {**options, "since": parse_time(options["since"]), "until": parse_time(options["until"])}
    names_lines = asked.around or any(options[name] for name in ("run_id", "task_id", "worker"))
    is_newest = not (shows_all or target.data or names_lines)

    async def show(operations: AllOperations) -> None:
        arguments = {**chosen, "run_id": await _newest_run_id(operations)} if is_newest else chosen
        if asked.counts:
            await _print_counts(operations, arguments, asked)
        elif asked.around:
            listed = await operations.list_logs(around=asked.around, context=asked.context, **arguments)
            _print_logs(listed.items, as_json=asked.as_json)
        else:
            await _list(operations, arguments, asked)

    if shows_all:
        target.run(show)
    else:
        target.run_at(options["run_id"], show, task=options["task_id"])


class LogsOptions(NamedTuple):
    """The options of the command that are no filters."""

    limit: int
    follow: bool
    around: str | None
    context: int
    counts: bool
    points: int
    as_json: bool


async def _list(operations: AllOperations, arguments: Any, asked: LogsOptions) -> None:
    found = await collect(partial(operations.list_logs, **arguments), asked.limit)
    _print_logs(found, as_json=asked.as_json)
    if not found and not asked.follow:
        print_message("no log lines match")
    if asked.follow:
        await _follow(operations, arguments, found[0].id if found else "0", as_json=asked.as_json)


def _print_logs(found: list[LogView], *, as_json: bool) -> None:
    # processes write their lines in turns
    for line in sorted(found, key=lambda line: (line.at, int(line.id))):
        _print_log(line, as_json=as_json)


async def _print_counts(operations: AllOperations, arguments: Any, asked: LogsOptions) -> None:
    """Print one line for each point of the histogram."""
    span = {"start": arguments.pop("since"), "end": arguments.pop("until")}
    found = await operations.count_logs(**span, points=asked.points, **arguments)
    for point in found.points:
        if asked.as_json:
            print_json_line(point)
            continue
        counts = "  ".join(f"{level} {getattr(point, level)}" for level in LEVELS if getattr(point, level))
        print_line(f"{point.at[:19]}Z  {counts}".rstrip())
    if found.is_estimated:
        print_message("there are many lines: the counts of frequent levels are estimates")


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
