"""`audit list|verify`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.exit_codes import code_of_findings
from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, collect, limit_option, with_target
from smartspider.cli.terminal.output import print_line, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.views.audit import AuditCheckView, AuditView


def _print_entries(entries: list[AuditView]) -> None:
    from smartspider.cli.terminal.tables import cell_text, short_json
    from smartspider.cli.times import format_time

    for one in entries:
        actor, action = cell_text(one.actor), cell_text(f"{one.action} {one.subject}")
        print_line(f"{one.id:>5}  {format_time(one.at)}  {actor}  {action}  {short_json(one.detail)}")


def _print_check(check: AuditCheckView) -> None:
    number = count(check.entries, "entry", "entries")
    if check.valid:
        print_line(f"the audit log is intact: {number}\nhead {check.head}")
    else:
        print_line(f"the audit log is broken: {check.reason}; the {number} before it are intact")


@click.group(cls=CommandGroup)
def audit() -> None:
    """Show the audit log and verify its hash chain."""


@audit.command("list")
@click.option(
    "--subject", default=None, metavar="task:N|run:N", help="Only entries about this subject, such as task:3."
)
@click.option("--action", default=None, help="Only this action: task.changed, run.state, ...")
@click.option("--actor", default=None, help="Only entries by this actor.")
@click.option(
    "--since", default=None, metavar="TIME", help="Only entries since this time: 2026-01-31, 10m, 2h, 7d."
)
@limit_option(20, "entries")
@with_target
@printed(_print_entries)
def list_entries(limit: int, since: str | None, target: Target, **filters: Any) -> list[AuditView]:
    """List audit entries, newest first."""
    from smartspider.cli.times import parse_time

    arguments = {**filters, "since": parse_time(since)}
    return target.run(lambda operations: collect(partial(operations.list_audit, **arguments), limit))


@audit.command()
@with_target
@printed(_print_check, exit_code=lambda check: code_of_findings(is_ok=check.valid))
def verify(target: Target) -> AuditCheckView:
    """Verify the whole chain; exit code 6 if an entry was changed, removed or inserted."""
    return target.run(lambda operations: operations.verify_audit())
