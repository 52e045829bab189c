"""`audit list|verify`: what was done, by whom, and whether the record is whole."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from smartspider.cli.place import JSON, Place, first, placed


@click.group()
def audit() -> None:
    """Read the audit, and check that nobody changed it."""


@audit.command("list")
@click.option("--subject", default=None, metavar="task:N|run:N", help="Only what was done to this.")
@click.option("--action", default=None, help="Only this: task.changed, run.state and so on.")
@click.option("--actor", default=None, help="Only what they did.")
@click.option("--since", default=None, metavar="MOMENT", help="Only from then on: 2026-01-31, 10m, 2h, 7d.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@placed
@JSON
def list_entries(limit: int, since: str | None, place: Place, *, as_json: bool, **only: Any) -> None:
    """What was done, newest first."""
    from smartspider.cli.moments import moment
    from smartspider.cli.output import print_json, tell
    from smartspider.cli.results_rejects import in_short
    from smartspider.cli.tables import cell
    from smartspider.cli.task_view import when

    asked = {**only, "since": moment(since)}
    entries = place.do(lambda office: first(partial(office.list_audit, **asked), limit))
    if as_json:
        print_json(entries)
        return
    for one in entries:
        who, what = cell(one.actor), cell(f"{one.action} {one.subject}")
        tell(f"{one.id:>5}  {when(one.at)}  {who}  {what}  {in_short(one.detail)}")


@audit.command()
@placed
@JSON
def verify(place: Place, *, as_json: bool) -> int:
    """Check the whole chain; exit code 6 when an entry was changed, removed or put in."""
    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.output import print_json, tell

    check = place.do(lambda office: office.verify_audit())
    if as_json:
        print_json(check)
    elif check.valid:
        number = "1 entry" if check.entries == 1 else f"{check.entries} entries"
        tell(f"the audit is whole: {number}\nhead {check.head}")
    else:
        tell(f"the audit is broken: {check.reason}; {check.entries} before it are whole")
    return code_of_findings(all_well=check.valid)
