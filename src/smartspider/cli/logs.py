"""`logs`: what happened, line by line, and as it happens."""

from __future__ import annotations

import sys
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.place import Place, first, placed

if TYPE_CHECKING:
    from smartspider.cli.place import Office
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
@placed
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def logs(limit: int, place: Place, *, follow: bool, as_json: bool, **only: Any) -> None:
    """Show log lines, the newest last."""
    from smartspider.cli.moments import moment

    asked = {**only, "since": moment(only["since"]), "until": moment(only["until"])}

    async def look(office: Office) -> None:
        found = await first(partial(office.list_logs, **asked), limit)
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
    from smartspider.cli.output import tell, tell_json
    from smartspider.cli.tables import cell
    from smartspider.cli.task_view import when

    if as_json:
        tell_json(line)
        return
    run = "" if line.run_id is None else f"run {line.run_id}"
    parts = (when(line.at), f"{line.level:<7}", run, line.worker, line.event, line.text, line.url or "")
    tell("  ".join(cell(part) for part in parts if part))
