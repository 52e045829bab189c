"""`profile add|list|use|remove`: servers by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.terminal.output import print_line, print_message, printed

if TYPE_CHECKING:
    from smartspider.cli.profile_file import Profile
    from smartspider.views.access import MeView

TOKEN_DAYS = 90


def _added_message(added: tuple[dict[str, Any], bool]) -> str:
    new, is_current = added
    text = f"{new['name']} is {new['url']}, as {new['user']} ({new['role']})"
    if not is_current:
        return text
    back = "`smartspider profile use local` switches back to local data folders"
    return f"{text}\nthis profile is now current; {back}"


def _print_profiles(found: list[dict[str, Any]]) -> None:
    for one in found:
        print_line(f"{'*' if one['current'] else ' '} {one['name']}  {one['url']}")


def _use_message(used: dict[str, str | None]) -> str:
    from smartspider.cli.profile_file import LOCAL, read_profiles

    name = used["current"]
    if name is None or name == LOCAL:
        return "commands now use the local data folders"
    return f"commands now use {read_profiles().get(name).url}"


@click.group(cls=CommandGroup)
def profile() -> None:
    """Manage profiles: named server connections with their tokens."""


@profile.command()
@click.argument("name")
@click.argument("url")
@click.option("--token", default=None, help="API token; - reads it from standard input or prompts for it.")
@click.option(
    "--token-file", type=click.Path(path_type=Path), default=None, help="File that contains the token."
)
@click.option(
    "--user", default=None, metavar="NAME", help="Sign in as this user and create a token for this machine."
)
@click.option("--ca-file", type=click.Path(path_type=Path), default=None, help="CA certificates to trust.")
@printed(message=_added_message, to_json=lambda added: added[0])
def add(
    name: str, url: str, user: str | None, ca_file: Path | None, **tokens: Any
) -> tuple[dict[str, Any], bool]:
    """Verify the token and save a server under a name. The first profile becomes the current one."""
    from smartspider.cli.profile_file import Profile, check_name, read_profiles, write_profiles
    from smartspider.client.http import check_server_url
    from smartspider.wiring.processes.lifecycle import run_loop

    if sum(given is not None for given in (*tokens.values(), user)) > 1:
        raise click.UsageError("--token, --token-file and --user are mutually exclusive.")
    check_name(name)
    token = _read_token(**tokens)
    new = Profile(check_server_url(url), token, None if ca_file is None else str(ca_file.resolve()))
    new, me = run_loop(_sign_in(new, user))
    profiles = read_profiles().with_profile(name, new)
    write_profiles(profiles)
    return {"name": name, "url": new.url, "user": me.name, "role": me.role}, profiles.current == name


@profile.command("list")
@printed(_print_profiles)
def list_profiles() -> list[dict[str, Any]]:
    """List profiles; the current one is marked with a star."""
    from smartspider.cli.profile_file import read_profiles

    profiles = read_profiles()
    return [
        {
            "name": name,
            "url": one.url,
            "has_token": one.token is not None,
            "current": name == profiles.current,
        }
        for name, one in profiles.servers.items()
    ]


@profile.command()
@click.argument("name")
@printed(message=_use_message)
def use(name: str) -> dict[str, str | None]:
    """Make a profile current; `local` selects the data folders of this machine."""
    from smartspider.cli.profile_file import read_profiles, write_profiles

    profiles = read_profiles().with_current(name)
    write_profiles(profiles)
    return {"current": profiles.current}


@profile.command()
@click.argument("name")
@printed(message="profile {0[name]} removed")
def remove(name: str) -> dict[str, Any]:
    """Remove a profile and its stored token. The token stays valid until it is revoked."""
    from smartspider.cli.profile_file import read_profiles, write_profiles

    write_profiles(read_profiles().without(name))
    return {"name": name, "removed": True}


def _read_token(token: str | None, token_file: Path | None) -> str | None:
    """Return the token that was given, from the option, standard input or a file."""
    from smartspider.cli.terminal.output import ask_secret
    from smartspider.core.errors import SettingInvalid

    if token == "-":  # noqa: S105 - not one
        return ask_secret("token").strip()
    if token_file is None:
        return token
    try:
        return token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid(f"{token_file} cannot be read: {error}") from error


async def _sign_in(new: Profile, user: str | None) -> tuple[Profile, MeView]:
    """Return the profile, with a new token if a user is given, and the principal that its token acts for."""
    import msgspec

    from smartspider.client import Client

    if user is not None:
        new = msgspec.structs.replace(new, token=await _create_token(new, user))
    async with Client(new.url, new.token, ca_file=new.ca_file) as client:
        return new, await client.get_me()


async def _create_token(new: Profile, user: str) -> str:
    """Sign in with a password, which is not stored, and create a token that acts for the user."""
    import platform

    from smartspider.cli.terminal.output import ask_secret
    from smartspider.client import Client
    from smartspider.core.errors import Forbidden

    password = ask_secret(f"password of {user}")
    async with Client(new.url, ca_file=new.ca_file) as client:
        session = await client.create_session(username=user, password=password)
    async with Client(new.url, session.access_token, ca_file=new.ca_file) as client:
        me = await client.get_me()
        name = f"cli {platform.node()}"[:64].strip()
        try:
            made = await client.create_token(
                name, role=me.role, expires_in_s=TOKEN_DAYS * 86_400.0, user=me.name
            )
        except Forbidden as error:
            raise Forbidden(
                f"{me.name} has role {me.role} and cannot create tokens",
                hint="ask an admin for a token and use --token -",
            ) from error
        finally:
            await client.end_session()
    print_message(f"created token {made.id} for this machine, valid for {TOKEN_DAYS} days")
    return made.token
