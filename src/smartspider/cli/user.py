"""`user add|list|passwd|role|disable|enable|delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.place import JSON, Place, first, placed
from smartspider.cli.token import ROLES

if TYPE_CHECKING:
    from smartspider.cli.place import Office
    from smartspider.views.access import UserView

NAME = click.argument("name")


@click.group()
def user() -> None:
    """Keep the users who sign in."""


@user.command()
@NAME
@click.option("--role", type=click.Choice(ROLES), default="viewer", show_default=True, help="What they may.")
@click.option("--password", "asks", is_flag=True, help="Ask for a password, or read it from a pipe.")
@placed
@JSON
def add(name: str, role: Any, place: Place, *, asks: bool, as_json: bool) -> None:
    """Add a user. Without a password they cannot sign in; tokens can act for them."""
    from smartspider.cli.asking import secret

    password = secret(f"password of {name}", is_new=True) if asks else None
    made = place.do(lambda office: office.create_user(name, role=role, password=password))
    _show(made, f"user {made.name!r} is {made.role}", as_json=as_json)


@user.command("list")
@placed
@JSON
def list_users(place: Place, *, as_json: bool) -> None:
    """Users in the order they were added."""
    from smartspider.cli.output import print_json, tell

    found = place.do(lambda office: first(office.list_users))
    if as_json:
        print_json(found)
        return
    for one in found:
        state = "" if one.enabled else f"  disabled {one.disabled_at}"
        tell(f"{one.id:>4}  {one.name}  {one.role}{'' if one.has_password else '  no password'}{state}")


@user.command()
@NAME
@placed
@JSON
def passwd(name: str, place: Place, *, as_json: bool) -> None:
    """Give a user another password: asked for, or read from a pipe. All their sessions end."""
    from smartspider.cli.asking import secret

    password = secret(f"new password of {name}", is_new=True)
    changed = place.do(lambda office: office.change_user(name, password=password))
    _show(changed, f"user {changed.name!r} has a new password", as_json=as_json)


@user.command("role")
@NAME
@click.argument("role", type=click.Choice(ROLES))
@placed
@JSON
def set_role(name: str, role: Any, place: Place, *, as_json: bool) -> None:
    """Give a user another role. All their sessions end."""
    changed = place.do(lambda office: office.change_user(name, role=role))
    _show(changed, f"user {changed.name!r} is {changed.role}", as_json=as_json)


@user.command()
@NAME
@placed
@JSON
def disable(name: str, place: Place, *, as_json: bool) -> None:
    """Let a user in no more; their sessions and tokens end."""
    changed = place.do(lambda office: office.change_user(name, enabled=False))
    _show(changed, f"user {changed.name!r} is disabled", as_json=as_json)


@user.command()
@NAME
@placed
@JSON
def enable(name: str, place: Place, *, as_json: bool) -> None:
    """Let a user in again who was disabled."""
    changed = place.do(lambda office: office.change_user(name, enabled=True))
    _show(changed, f"user {changed.name!r} is enabled", as_json=as_json)


@user.command()
@NAME
@click.option("--yes", is_flag=True, help="Do not ask.")
@placed
@JSON
def delete(name: str, place: Place, *, yes: bool, as_json: bool) -> None:
    """Forget a user; their sessions and tokens end."""
    from smartspider.cli.asking import confirm
    from smartspider.cli.output import print_json, say

    async def remove(office: Office) -> str:
        known = await office.get_user(name)
        confirm(f"delete the user {known.name!r}?", "deleting a user", yes=yes)
        await office.delete_user(known.id)
        return known.id

    user_id = place.do(remove)
    if as_json:
        print_json({"user_id": user_id, "name": name, "deleted": True})
    say(f"the user {name!r} is deleted")


def _show(one: UserView, text: str, *, as_json: bool) -> None:
    from smartspider.cli.output import print_json, say

    if as_json:
        print_json(one)
    say(text)
