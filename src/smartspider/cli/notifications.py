"""`notice add|list|test|delete|history`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from smartspider.cli.target import JSON, Target, collect, with_target

EVENTS = ("run.finished", "run.failed", "run.paused", "run.few_rows", "store.full", "store.returned")
ID = click.argument("notice_id", metavar="ID")


@click.group()
def notice() -> None:
    """Tell people and programs what becomes of runs."""


@notice.command()
@click.argument("kind", type=click.Choice(["webhook", "email"]))
@click.argument("address")
@click.option(
    "--on", "events", multiple=True, type=click.Choice(EVENTS), help="What to tell.  [default: all]"
)
@click.option("--task", default=None, metavar="NAME", help="Only of this task.")
@with_target
@JSON
def add(
    kind: Any, address: str, events: tuple[Any, ...], task: str | None, place: Target, *, as_json: bool
) -> None:
    """Send notices to a URL (signed) or to an email address."""
    from smartspider.cli.terminal.output import print_json, print_line, print_message

    told = events or EVENTS
    made = place.do(
        lambda office: office.create_notice(kind=kind, address=address, events=told, task_id=task), task=task
    )
    if as_json:
        print_json(made)
    elif made.secret is not None:
        print_line(made.secret)
    signed = "" if made.secret is None else "; the secret of its signatures is not shown again"
    print_message(f"notice {made.id} to {made.address}: {', '.join(made.events)}{signed}")


@notice.command("list")
@with_target
@JSON
def list_notices(place: Target, *, as_json: bool) -> None:
    """Who is told what."""
    from smartspider.cli.terminal.output import print_json, print_line

    found = place.do(lambda office: collect(office.list_notices))
    if as_json:
        print_json(found)
        return
    for one in found:
        of = "" if one.task_id is None else f"  of task {one.task_id}"
        print_line(f"{one.id:>4}  {one.kind:<7}  {one.address}  {','.join(one.events)}{of}")


@notice.command()
@ID
@with_target
@JSON
def test(notice_id: str, place: Target, *, as_json: bool) -> int:
    """Send a notice for trying out; exit code 6 when it does not arrive."""
    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.terminal.output import print_json, print_message

    tried = place.do(lambda office: office.test_notice(notice_id))
    if as_json:
        print_json(tried)
    print_message("it arrived" if tried.delivered else f"it did not arrive: {tried.error}")
    return code_of_findings(all_well=tried.delivered)


@notice.command()
@ID
@with_target
@JSON
def delete(notice_id: str, place: Target, *, as_json: bool) -> None:
    """Tell them nothing more."""
    from smartspider.cli.terminal.output import print_json, print_message

    place.do(lambda office: office.delete_notice(notice_id))
    if as_json:
        print_json({"notice_id": notice_id, "deleted": True})
    print_message(f"notice {notice_id} is deleted")


@notice.command()
@ID
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@with_target
@JSON
def history(notice_id: str, limit: int, place: Target, *, as_json: bool) -> None:
    """What was told, newest first: delivered, waiting for another try, or given up."""
    from smartspider.cli.tasks.rendering import format_time
    from smartspider.cli.terminal.output import print_json, print_line

    found = place.do(lambda office: collect(partial(office.list_deliveries, notice_id), limit))
    if as_json:
        print_json(found)
        return
    for one in found:
        print_line(
            f"{when(one.created_at)}  {one.state:<9} {one.event}  run {one.run_id}  {one.error}".rstrip()
        )
