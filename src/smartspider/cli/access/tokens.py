"""`token add|list|revoke`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, collect, with_target
from smartspider.cli.terminal.output import print_line, printed

if TYPE_CHECKING:
    from smartspider.views.access import NewTokenView, TokenView

ROLES = ("viewer", "operator", "admin", "worker", "uploader")


def _created_message(made: NewTokenView) -> str:
    until = "" if made.expires_at is None else f" until {made.expires_at}"
    return f"token {made.id} {made.name!r} acts as {made.actor} ({made.role}){until}; it is not shown again"


def _print_tokens(found: list[TokenView]) -> None:
    for one in found:
        state = "valid" if one.expires_at is None else f"until {one.expires_at}"
        state = state if one.revoked_at is None else f"revoked {one.revoked_at}"
        scopes = f"  {','.join(one.scopes)}" if one.scopes else ""
        print_line(f"{one.id:>4}  {one.name}  {one.role}  acts as {one.actor}  {state}{scopes}")


@click.group(cls=CommandGroup)
def token() -> None:
    """Manage API tokens."""


@token.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="Role of the token.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="AREA:VERB",
    help="Restrict the token to this scope, such as runs:read; may be repeated.",
)
@click.option("--expires", default=None, metavar="DURATION", help="Lifetime: 12h, 90d.")
@click.option("--user", default=None, metavar="NAME", help="User the token acts for.  [default: itself]")
@with_target
@printed(lambda made: print_line(made.token), message=_created_message)
def add(name: str, role: Any, expires: str | None, target: Target, **more: Any) -> NewTokenView:
    """Create a token. The secret is printed only once."""
    from smartspider.cli.times import parse_duration_s

    life_s = None if expires is None else parse_duration_s(expires)
    return target.run(
        lambda operations: operations.create_token(name, role=role, expires_in_s=life_s, **more)
    )


@token.command("list")
@click.option("--user", default=None, metavar="NAME", help="Only tokens that act as this user.")
@with_target
@printed(_print_tokens)
def list_tokens(user: str | None, target: Target) -> list[TokenView]:
    """List tokens in creation order, without their secrets."""
    return target.run(lambda operations: collect(partial(operations.list_tokens, actor=user)))


@token.command()
@click.argument("token_id", metavar="ID")
@with_target
@printed(message="token {0.id} {0.name!r} is revoked")
def revoke(token_id: str, target: Target) -> TokenView:
    """Revoke a token."""
    return target.run(lambda operations: operations.revoke_token(token_id))
