"""`secret set|list|delete` and `vault status|verify|rotate`."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from smartspider.cli.exit_codes import code_of_findings
from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, collect, with_target
from smartspider.cli.terminal.output import print_line, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.identities.vault import RotatedView, SecretView, VaultView, VerifiedView

T = TypeVar("T")
NAME = click.argument("name", metavar="NAME")


def run_in_vault(
    target: Target, work: Callable[[AllOperations], Awaitable[T]], *, creates: bool = False
) -> T:
    """Run a function where secrets and proxies are: in the data folder of the server, unless one is named."""
    if target.remote() is not None or target.is_cluster() or not (creates or target.data is None):
        return target.run(work)
    from smartspider.wiring.opening import vault_folder

    return target.run_in_folder(target.data or vault_folder(target.settings), work)


def _print_secrets(found: list[SecretView]) -> None:
    from smartspider.cli.times import format_time

    for one in found:
        used = "never used" if one.used_at is None else f"used {format_time(one.used_at)}"
        shared = "  shared" if one.shared else ""
        print_line(f"{one.name}  {one.owner}  set {format_time(one.updated_at)}  {used}{shared}")


def _set_message(found: SecretView) -> str:
    reach = "the tasks of all users refer" if found.shared else f"tasks of {found.owner} refer"
    return f"secret {found.name}: {reach} to it as ${{{found.name}}}"


def _print_status(found: VaultView) -> None:
    parts = [count(found.values, "value"), f"master key {found.key_id}"]
    parts += [f"{found.old} need the old key: run `smartspider vault rotate`"] if found.old else []
    parts += [f"{found.lost} open with no known key"] if found.lost else []
    print_line("; ".join(parts))


def _print_verified(found: VerifiedView) -> None:
    damaged = ", ".join(f"{one.kind} {one.id}" for one in found.damaged)
    print_line(f"{count(found.values, 'value')}, {f'do not open: {damaged}' if damaged else 'all open'}")


def _rotated_message(found: RotatedView) -> str:
    return f"master key {found.key_id}: {count(found.rewrapped, 'value')} rewrapped"


@click.group(cls=CommandGroup)
def secret() -> None:
    """Manage named secrets, which tasks refer to as ${NAME}."""


@secret.command("set")
@NAME
@click.option(
    "--file", type=click.File("rb"), default=None, help="Read the value from a file.  [default: stdin]"
)
@click.option(
    "--shared/--private", default=None, help="The tasks of all users may use it, or its owner's only."
)
@with_target
@printed(message=_set_message)
def set_secret(name: str, file: BinaryIO | None, shared: bool | None, target: Target) -> SecretView:
    """Set a named secret: from a file, from standard input, or asked for. A last line break is dropped."""
    value = _read_value(name, file)
    return run_in_vault(
        target, lambda operations: operations.set_secret(name, value=value, shared=shared), creates=True
    )


def _read_value(name: str, file: BinaryIO | None) -> str:
    if file is None and sys.stdin.isatty():
        return str(click.prompt(f"Value of {name}", hide_input=True, err=True))
    data = (click.open_file("-", "rb") if file is None else file).read()
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise click.UsageError("The value is not UTF-8 text.") from error


@secret.command("list")
@with_target
@printed(_print_secrets)
def list_secrets(target: Target) -> list[SecretView]:
    """List named secrets. Values are never shown."""
    return run_in_vault(target, lambda operations: collect(operations.list_secrets))


@secret.command()
@NAME
@with_target
@printed(message="deleted")
def delete(name: str, target: Target) -> dict[str, Any]:
    """Delete a named secret."""
    run_in_vault(target, lambda operations: operations.delete_secret(name))
    return {"name": name, "deleted": True}


@click.group(cls=CommandGroup)
def vault() -> None:
    """Check the vault, which keeps secrets encrypted, and rotate its master key."""


@vault.command()
@with_target
@printed(_print_status)
def status(target: Target) -> VaultView:
    """Show how many values there are, and whether the master key opens them."""
    return run_in_vault(target, lambda operations: operations.get_vault())


@vault.command()
@with_target
@printed(_print_verified, exit_code=lambda found: code_of_findings(is_ok=found.ok))
def verify(target: Target) -> VerifiedView:
    """Open every value. The exit code is 6 if one does not open."""
    return run_in_vault(target, lambda operations: operations.verify_vault())


@vault.command()
@with_target
@printed(message=_rotated_message)
def rotate(target: Target) -> RotatedView:
    """Replace the master key while runs go on: a data folder gets a new one, and a server uses
    SMARTSPIDER_MASTER_KEY in place of SMARTSPIDER_MASTER_KEY_OLD. Run it again if it was interrupted.
    """
    return run_in_vault(target, lambda operations: operations.rotate_vault())
