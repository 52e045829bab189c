"""`profile add|list|use|remove`: servers by name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.place import JSON

if TYPE_CHECKING:
    from smartspider.cli.profiles import Profile
    from smartspider.views.access import MeView

TOKEN_DAYS = 90


@click.group()
def profile() -> None:
    """Keep servers by name, with what to come to them with."""


@profile.command()
@click.argument("name")
@click.argument("url")
@click.option("--token", default=None, help="A token; - reads it from a pipe or asks for it.")
@click.option("--token-file", type=click.Path(path_type=Path), default=None, help="A file with the token.")
@click.option("--user", default=None, metavar="NAME", help="Sign in, and make a token for this machine.")
@click.option("--ca-file", type=click.Path(path_type=Path), default=None, help="Certificates to trust.")
@JSON
def add(name: str, url: str, user: str | None, ca_file: Path | None, *, as_json: bool, **tokens: Any) -> None:
    """Keep a server by a name, after asking it who one is there. The first one kept is the one in use."""
    from smartspider.cli.output import print_json, say
    from smartspider.cli.profiles import Profile, checked_name, read_profiles, write_profiles
    from smartspider.client.http import check_server_url
    from smartspider.wiring.loop import run_loop

    if sum(given is not None for given in (*tokens.values(), user)) > 1:
        raise click.UsageError("--token, --token-file and --user say the same: give one of them.")
    checked_name(name)
    given = _given(**tokens)
    new = Profile(check_server_url(url), given, None if ca_file is None else str(ca_file.resolve()))
    new, me = run_loop(_known(new, user))
    profiles = read_profiles().with_one(name, new)
    write_profiles(profiles)
    if as_json:
        print_json({"name": name, "url": new.url, "user": me.name, "role": me.role})
    say(f"{name} is {new.url}, as {me.name} ({me.role})")
    if profiles.current == name:
        say("commands go there from now on; `smartspider profile use local` brings them back here")


@profile.command("list")
@JSON
def list_profiles(*, as_json: bool) -> None:
    """The servers that are kept; the one in use has a star."""
    from smartspider.cli.output import print_json, tell
    from smartspider.cli.profiles import read_profiles

    profiles = read_profiles()
    if as_json:
        print_json(
            [
                {
                    "name": name,
                    "url": one.url,
                    "has_token": one.token is not None,
                    "current": name == profiles.current,
                }
                for name, one in profiles.servers.items()
            ]
        )
        return
    for name, one in profiles.servers.items():
        tell(f"{'*' if name == profiles.current else ' '} {name}  {one.url}")


@profile.command()
@click.argument("name")
@JSON
def use(name: str, *, as_json: bool) -> None:
    """Send commands to this server from now on; `local` brings them back to the data folders here."""
    from smartspider.cli.output import print_json, say
    from smartspider.cli.profiles import LOCAL, read_profiles, write_profiles

    profiles = read_profiles().using(name)
    write_profiles(profiles)
    if as_json:
        print_json({"current": profiles.current})
    where = "the data folders here" if name == LOCAL else profiles.get(name).url
    say(f"commands go to {where}")


@profile.command()
@click.argument("name")
@JSON
def remove(name: str, *, as_json: bool) -> None:
    """Forget a server and the token for it; the token itself stays good until it is revoked."""
    from smartspider.cli.output import print_json, say
    from smartspider.cli.profiles import read_profiles, write_profiles

    write_profiles(read_profiles().without(name))
    if as_json:
        print_json({"name": name, "removed": True})
    say(f"{name} is removed")


def _given(token: str | None, token_file: Path | None) -> str | None:
    """The token that is given, from where it is."""
    from smartspider.cli.asking import secret
    from smartspider.core.errors import SettingInvalid

    if token == "-":  # noqa: S105 - not one
        return secret("token").strip()
    if token_file is None:
        return token
    try:
        return token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid(f"{token_file} cannot be read: {error}") from error


async def _known(new: Profile, user: str | None) -> tuple[Profile, MeView]:
    """The profile, with a token of its own where somebody signs in; and who one is there."""
    import msgspec

    from smartspider.client import Client

    if user is not None:
        new = msgspec.structs.replace(new, token=await _signed_in(new, user))
    async with Client(new.url, new.token, ca_file=new.ca_file) as client:
        return new, await client.get_me()


async def _signed_in(new: Profile, user: str) -> str:
    """A token that acts for somebody, made with their password, which is not kept."""
    import platform

    from smartspider.cli.asking import secret
    from smartspider.client import Client
    from smartspider.core.errors import Forbidden

    password = secret(f"password of {user}")
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
                f"{me.name} is {me.role} and cannot make a token",
                hint="ask an admin for one, and use --token -",
            ) from error
        finally:
            await client.end_session()
    sys.stderr.write(f"made the token {made.id} for this machine, good for {TOKEN_DAYS} days\n")
    return made.token
