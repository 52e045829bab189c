"""`notice add|list|test|delete|history`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from smartspider.cli.place import JSON, Place, first, placed

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
@placed
@JSON
def add(
    kind: Any, address: str, events: tuple[Any, ...], task: str | None, place: Place, *, as_json: bool
) -> None:
    """Send notices to a URL (signed) or to an email address."""
    from smartspider.cli.output import print_json, say, tell

    told = events or EVENTS
    made = place.do(
        lambda office: office.create_notice(kind=kind, address=address, events=told, task_id=task), task=task
    )
    if as_json:
        print_json(made)
    elif made.secret is not None:
        tell(made.secret)
    signed = "" if made.secret is None else "; the secret of its signatures is not shown again"
    say(f"notice {made.id} to {made.address}: {', '.join(made.events)}{signed}")


@notice.command("list")
@placed
@JSON
def list_notices(place: Place, *, as_json: bool) -> None:
    """Who is told what."""
    from smartspider.cli.output import print_json, tell

    found = place.do(lambda office: first(office.list_notices))
    if as_json:
        print_json(found)
        return
    for one in found:
        of = "" if one.task_id is None else f"  of task {one.task_id}"
        tell(f"{one.id:>4}  {one.kind:<7}  {one.address}  {','.join(one.events)}{of}")


@notice.command()
@ID
@placed
@JSON
def test(notice_id: str, place: Place, *, as_json: bool) -> int:
    """Send a notice for trying out; exit code 6 when it does not arrive."""
    from smartspider.cli.exit_codes import code_of_findings
    from smartspider.cli.output import print_json, say

    tried = place.do(lambda office: office.test_notice(notice_id))
    if as_json:
        print_json(tried)
    say("it arrived" if tried.delivered else f"it did not arrive: {tried.error}")
    return code_of_findings(all_well=tried.delivered)


@notice.command()
@ID
@placed
@JSON
def delete(notice_id: str, place: Place, *, as_json: bool) -> None:
    """Tell them nothing more."""
    from smartspider.cli.output import print_json, say

    place.do(lambda office: office.delete_notice(notice_id))
    if as_json:
        print_json({"notice_id": notice_id, "deleted": True})
    say(f"notice {notice_id} is deleted")


@notice.command()
@ID
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@placed
@JSON
def history(notice_id: str, limit: int, place: Place, *, as_json: bool) -> None:
    """What was told, newest first: delivered, waiting for another try, or given up."""
    from smartspider.cli.output import print_json, tell
    from smartspider.cli.task_view import when

    found = place.do(lambda office: first(partial(office.list_deliveries, notice_id), limit))
    if as_json:
        print_json(found)
        return
    for one in found:
        tell(f"{when(one.created_at)}  {one.state:<9} {one.event}  run {one.run_id}  {one.error}".rstrip())
