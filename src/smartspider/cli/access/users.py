"""`user add|list|passwd|role|disable|enable|delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.access.tokens import ROLES
from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, collect, with_target
from smartspider.cli.terminal.output import print_line, printed

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.access import UserView

NAME = click.argument("name")


ROLE_MESSAGE = "user {0.name!r} is {0.role}"


def _print_users(found: list[UserView]) -> None:
    for one in found:
        state = "" if one.enabled else f"  disabled {one.disabled_at}"
        print_line(f"{one.id:>4}  {one.name}  {one.role}{'' if one.has_password else '  no password'}{state}")


@click.group(cls=CommandGroup)
def user() -> None:
    """Manage users."""


@user.command()
@NAME
@click.option(
    "--role", type=click.Choice(ROLES), default="viewer", show_default=True, help="Role of the user."
)
@click.option(
    "--password",
    "asks_password",
    is_flag=True,
    help="Prompt for a password, or read it from standard input.",
)
@with_target
@printed(message=ROLE_MESSAGE)
def add(name: str, role: Any, target: Target, *, asks_password: bool) -> UserView:
    """Add a user. A user without a password cannot sign in, but can own tokens."""
    from smartspider.cli.terminal.output import ask_secret

    password = ask_secret(f"password of {name}", is_new=True) if asks_password else None
    return target.run(lambda operations: operations.create_user(name, role=role, password=password))


@user.command("list")
@with_target
@printed(_print_users)
def list_users(target: Target) -> list[UserView]:
    """List users in the order they were added."""
    return target.run(lambda operations: collect(operations.list_users))


@user.command()
@NAME
@with_target
@printed(message="user {0.name!r} has a new password")
def passwd(name: str, target: Target) -> UserView:
    """Set a user's password (prompt or standard input). All sessions of the user end."""
    from smartspider.cli.terminal.output import ask_secret

    password = ask_secret(f"new password of {name}", is_new=True)
    return target.run(lambda operations: operations.change_user(name, password=password))


@user.command("role")
@NAME
@click.argument("role", type=click.Choice(ROLES))
@with_target
@printed(message=ROLE_MESSAGE)
def set_role(name: str, role: Any, target: Target) -> UserView:
    """Change a user's role. All sessions of the user end."""
    return target.run(lambda operations: operations.change_user(name, role=role))


@user.command()
@NAME
@with_target
@printed(message="user {0.name!r} is disabled")
def disable(name: str, target: Target) -> UserView:
    """Disable a user. Their sessions end and their tokens are revoked."""
    return target.run(lambda operations: operations.change_user(name, enabled=False))


@user.command()
@NAME
@with_target
@printed(message="user {0.name!r} is enabled")
def enable(name: str, target: Target) -> UserView:
    """Enable a disabled user."""
    return target.run(lambda operations: operations.change_user(name, enabled=True))


@user.command()
@NAME
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_target
@printed(message="user {0[name]!r} is deleted")
def delete(name: str, target: Target, *, yes: bool) -> dict[str, Any]:
    """Delete a user. Their sessions end and their tokens are revoked."""
    from smartspider.cli.terminal.output import confirm

    async def remove(operations: AllOperations) -> str:
        found = await operations.get_user(name)
        confirm(f"delete the user {found.name!r}?", "deleting a user", yes=yes)
        await operations.delete_user(found.id)
        return found.id

    return {"user_id": target.run(remove), "name": name, "deleted": True}
