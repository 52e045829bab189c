"""`audit list|verify`: what was done, by whom, and whether the record is whole."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from smartspider.cli.target import JSON, Target, collect, with_target


@click.group()
def audit() -> None:
    """Read the audit, and check that nobody changed it."""


@audit.command("list")
@click.option("--subject", default=None, metavar="task:N|run:N", help="Only what was done to this.")
@click.option("--action", default=None, help="Only this: task.changed, run.state and so on.")
@click.option("--actor", default=None, help="Only what they did.")
@click.option("--since", default=None, metavar="MOMENT", help="Only from then on: 2026-01-31, 10m, 2h, 7d.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@with_target
@JSON
def list_entries(limit: int, since: str | None, place: Target, *, as_json: bool, **only: Any) -> None:
    """What was done, newest first."""
    from smartspider.cli.results.step_log import short_json
    from smartspider.cli.tasks.rendering import format_time
    from smartspider.cli.terminal.output import print_json, print_line
    from smartspider.cli.terminal.tables import cell_text
    from smartspider.cli.times import parse_time

    asked = {**only, "since": parse_time(since)}
    entries = place.do(lambda office: collect(partial(office.list_audit, **asked), limit))
    if as_json:
        print_json(entries)
        return
    for one in entries:
        who, what = cell_text(one.actor), cell_text(f"{one.action} {one.subject}")
        print_line(f"{one.id:>5}  {when(one.at)}  {who}  {what}  {in_short(one.detail)}")


@audit.command()
@with_target
@JSON
def verify(place: Target, *, as_json: bool) -> int:
    """Check the whole chain; exit code 6 when an entry was changed, removed or put in."""
    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.terminal.output import print_json, print_line

    check = place.do(lambda office: office.verify_audit())
    if as_json:
        print_json(check)
    elif check.valid:
        number = "1 entry" if check.entries == 1 else f"{check.entries} entries"
        print_line(f"the audit is whole: {number}\nhead {check.head}")
    else:
        print_line(f"the audit is broken: {check.reason}; {check.entries} before it are whole")
    return code_of_findings(all_well=check.valid)
