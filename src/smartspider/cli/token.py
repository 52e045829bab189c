"""`token add|list|revoke`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from smartspider.cli.place import JSON, Place, first, placed

ROLES = ("viewer", "operator", "admin", "worker", "uploader")


@click.group()
def token() -> None:
    """Keep the tokens that programs come with."""


@token.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What it may do.")
@click.option("--scope", "scopes", multiple=True, metavar="AREA:VERB", help="Only this: runs:read, ...")
@click.option("--expires", default=None, metavar="DURATION", help="Good for so long: 12h, 90d.")
@click.option("--user", default=None, metavar="NAME", help="Whom it acts for.  [default: itself]")
@placed
@JSON
def add(name: str, role: Any, expires: str | None, place: Place, *, as_json: bool, **more: Any) -> None:
    """Make a token. It is printed this once."""
    from smartspider.cli.moments import duration_s
    from smartspider.cli.output import print_json, say, tell

    life_s = None if expires is None else duration_s(expires)
    made = place.do(lambda office: office.create_token(name, role=role, expires_in_s=life_s, **more))
    if as_json:
        print_json(made)
    else:
        tell(made.token)
    until = "" if made.expires_at is None else f" until {made.expires_at}"
    say(f"token {made.id} {made.name!r} acts as {made.actor} ({made.role}){until}; it is not shown again")


@token.command("list")
@click.option("--user", default=None, metavar="NAME", help="Only those that act for them.")
@placed
@JSON
def list_tokens(user: str | None, place: Place, *, as_json: bool) -> None:
    """Tokens in the order they were made, without what they are."""
    from smartspider.cli.output import print_json, tell

    found = place.do(lambda office: first(partial(office.list_tokens, actor=user)))
    if as_json:
        print_json(found)
        return
    for one in found:
        state = "good" if one.expires_at is None else f"until {one.expires_at}"
        state = state if one.revoked_at is None else f"revoked {one.revoked_at}"
        scopes = f"  {','.join(one.scopes)}" if one.scopes else ""
        tell(f"{one.id:>4}  {one.name}  {one.role}  acts as {one.actor}  {state}{scopes}")


@token.command()
@click.argument("token_id", metavar="ID")
@placed
@JSON
def revoke(token_id: str, place: Place, *, as_json: bool) -> None:
    """Make a token good for nothing."""
    from smartspider.cli.output import print_json, say

    gone = place.do(lambda office: office.revoke_token(token_id))
    if as_json:
        print_json(gone)
    say(f"token {gone.id} {gone.name!r} is revoked")
