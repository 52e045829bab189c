"""`logs`: what happened, line by line, and as it happens."""

from __future__ import annotations

import sys
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.target import Target, collect, with_target

if TYPE_CHECKING:
    from smartspider.cli.target import Office
    from smartspider.views.logs import LogView

LEVELS = ("debug", "info", "warning", "error")


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on with lines as they come, until Ctrl-C.")
@click.option("--run", "run_id", default=None, metavar="RUN", help="Only of this run.")
@click.option("--task", "task_id", default=None, metavar="NAME", help="Only of this task.")
@click.option("--level", type=click.Choice(LEVELS), default=None, help="At least this.")
@click.option("--host", default=None, help="Only of this host.")
@click.option("--error", default=None, metavar="TYPE", help="Only with this type of error: timeout, dns, ...")
@click.option("--worker", default=None, metavar="NAME", help="Only of this worker or process.")
@click.option("--text", default=None, metavar="WORDS", help="Only with all of these words.")
@click.option("--since", default=None, metavar="MOMENT", help="Only from then on: 2026-01-31, 10m, 2h, 7d.")
@click.option("--until", default=None, metavar="MOMENT", help="Only until then.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="The last so many.")
@with_target
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def logs(limit: int, place: Target, *, follow: bool, as_json: bool, **only: Any) -> None:
    """Show log lines, the newest last."""
    from smartspider.cli.times import parse_time

    asked = {**only, "since": parse_time(only["since"]), "until": parse_time(only["until"])}

    async def look(office: Office) -> None:
        found = await collect(partial(office.list_logs, **asked), limit)
        for line in reversed(found):
            _show(line, as_json=as_json)
        if not follow:
            return
        sys.stdout.flush()
        after = found[0].id if found else "0"
        async with aclosing(office.tail_logs(after=after, **asked)) as lines:
            async for line in lines:
                _show(line, as_json=as_json)
                sys.stdout.flush()

    place.do(look, task=only["task_id"])


def _show(line: LogView, *, as_json: bool) -> None:
    from smartspider.cli.tasks.rendering import format_time
    from smartspider.cli.terminal.output import print_json_line, print_line
    from smartspider.cli.terminal.tables import cell_text

    if as_json:
        print_json_line(line)
        return
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
