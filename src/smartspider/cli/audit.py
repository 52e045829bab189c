"""`audit list|verify`: what was done in a data folder, by whom, and whether the record is whole."""

from __future__ import annotations

from pathlib import Path

import click

from smartspider.cli.runs import DATA, JSON


@click.group()
def audit() -> None:
    """Read the audit, and check that nobody changed it."""


@audit.command("list")
@click.option("--subject", default=None, metavar="task:N|run:N", help="Only what was done to this.")
@click.option("--action", default=None, help="Only this: task.changed, run.state and so on.")
@click.option("--actor", default=None, help="Only what they did.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@DATA
@JSON
def list_entries(
    subject: str | None,
    action: str | None,
    actor: str | None,
    limit: int,
    data: Path | None,
    *,
    as_json: bool,
) -> None:
    """What was done, newest first."""
    from smartspider.cli.output import print_json, tell
    from smartspider.cli.results_rejects import in_short
    from smartspider.cli.tables import cell
    from smartspider.interfaces.audit_log import AuditFilter
    from smartspider.services.audit import told
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    only = AuditFilter(action=action, subject=subject, actor=actor)
    with open_folder(find_folder(data)) as folder:
        entries = [told(entry) for entry in run_loop(folder.audit.entries(only, limit=limit))]
    if as_json:
        print_json(entries)
        return
    for one in entries:
        who, what = cell(one.actor), cell(f"{one.action} {one.subject}")
        tell(f"{one.id:>5}  {one.at[:19]}Z  {who}  {what}  {in_short(one.detail)}")


@audit.command()
@DATA
@JSON
def verify(data: Path | None, *, as_json: bool) -> int:
    """Check the whole chain; exit code 6 when an entry was changed, removed or put in."""
    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.output import print_json, tell
    from smartspider.services.audit import told_check
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(find_folder(data)) as folder:
        check = told_check(run_loop(folder.audit.verify()))
    if as_json:
        print_json(check)
    elif check.valid:
        number = "1 entry" if check.entries == 1 else f"{check.entries} entries"
        tell(f"the audit is whole: {number}\nhead {check.head}")
    else:
        tell(f"the audit is broken: {check.reason}; {check.entries} before it are whole")
    return code_of_findings(all_well=check.valid)
