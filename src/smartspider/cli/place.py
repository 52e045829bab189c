"""Where a command goes: to a data folder, a cluster or a server. One set of options for all commands."""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from smartspider.cli.profiles import LOCAL, Profile

if TYPE_CHECKING:
    from smartspider.client import Client
    from smartspider.installation.settings import Settings
    from smartspider.views.listed import Listed
    from smartspider.wiring.office.local import LocalOffice

    Office = LocalOffice | Client

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

CA_FILE = "SMARTSPIDER_CA_FILE"
CLUSTER = "the cluster"
"""What the place is called that the settings name."""
PAGE = 1000
"""How much of a list is asked for at a time."""

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_OPTIONS = (
    click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder."),
    click.option("--server", default=None, metavar="URL", help="A server instead of a data folder."),
    click.option("--token", default=None, help="What to come to the server with.  [SMARTSPIDER_TOKEN]"),
    click.option("--profile", default=None, metavar="NAME", help="A server by its name."),
)


def placed(command: F) -> F:
    """The options that say where a command goes; it gets them as `place`."""

    @functools.wraps(command)
    def wrapper(*args: Any, **given: Any) -> Any:
        place = Place(*(given.pop(name) for name in ("data", "server", "token", "profile")))
        return command(*args, place=place, **given)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return wrapper  # type: ignore[return-value]  # with the signature that click sees


class Place(msgspec.Struct, frozen=True):
    """What the options say."""

    data: Path | None = None
    server: str | None = None
    token: str | None = None
    profile: str | None = None

    def do(self, work: Callable[[Office], Awaitable[T]], *, task: str | None = None) -> T:
        """What comes of a piece of work there. A folder of the task's own is looked into first."""
        from smartspider.wiring.loop import run_loop

        return run_loop(self._do(work, task))

    def make(self, work: Callable[[LocalOffice], Awaitable[T]]) -> T:
        """The same in a data folder that is made if it is not there."""
        from smartspider.wiring.loop import run_loop

        assert self.data is not None  # noqa: S101 - somebody chose it
        return run_loop(_in_folder(self.data, work))

    async def _do(self, work: Callable[[Office], Awaitable[T]], task: str | None) -> T:
        remote = self.remote()
        if remote is not None:
            from smartspider.client import Client

            async with Client(remote.url, remote.token, ca_file=remote.ca_file) as client:
                return await work(client)
        cluster = self.cluster()
        if cluster is not None:
            return await _in_cluster(cluster, work)
        return await _in_folder(self.folder(task), work)

    def remote(self) -> Profile | None:
        """The server; None: a data folder."""
        from smartspider.cli.profiles import read_profiles
        from smartspider.installation.settings import read_settings

        self._check()
        if self.data is not None:
            return None
        settings = read_settings()
        url = self.server or ("" if self.profile else settings.server)
        if url:
            token = self.token or settings.token or None
            return Profile(url, token, os.environ.get(CA_FILE) or None)
        profiles = read_profiles()
        name = self.profile or settings.profile or _current(settings, profiles.current)
        if name is None or name == LOCAL:
            return None
        known = profiles.get(name)
        token = self.token or known.token or settings.token or None
        return Profile(known.url, token, known.ca_file or os.environ.get(CA_FILE) or None)

    def cluster(self) -> Settings | None:
        """The settings of the cluster they name, when no other place was chosen."""
        from smartspider.installation.settings import read_settings

        settings = read_settings()
        is_chosen = self.data is None and self.remote() is None
        return settings if is_chosen and settings.is_cluster else None

    def folder(self, task: str | None = None) -> Path:
        """The data folder to look into."""
        from smartspider.installation.data_folder import find_folder, folder_with

        return find_folder(self.data) if task is None else folder_with(self.data, task)

    def _check(self) -> None:
        given = {"--data": self.data, "--server": self.server, "--profile": self.profile}
        named = [option for option, value in given.items() if value is not None]
        if len(named) > 1:
            raise click.UsageError(f"{' and '.join(named)} name different places: give one of them.")
        if self.data is not None and self.token is not None:
            raise click.UsageError("--token is for a server: give --server or --profile with it.")


async def _in_folder(folder: Path, work: Callable[[LocalOffice], Awaitable[T]]) -> T:
    from smartspider.cli.actor import cli_actor
    from smartspider.wiring.office.local import open_office

    async with open_office(folder, cli_actor()) as office:
        return await work(office)


async def _in_cluster(settings: Settings, work: Callable[[LocalOffice], Awaitable[T]]) -> T:
    from smartspider.cli.actor import cli_actor
    from smartspider.wiring.office.local import open_cluster_office

    async with open_cluster_office(settings, cli_actor()) as office:
        return await work(office)


def _current(settings: Settings, current: str | None) -> str | None:
    """The profile in use, unless the settings name a folder or a cluster."""
    return None if settings.is_cluster or settings.data_folder is not None else current


async def first(
    fetch: Callable[..., Awaitable[Listed[T]]], limit: int | None = None, *, page: int = PAGE
) -> list[T]:
    """The first so many of a list, page by page; without a limit all of it."""
    found: list[T] = []
    cursor: str | None = None
    while limit is None or len(found) < limit:
        left = page if limit is None else min(page, limit - len(found))
        listed = await fetch(limit=left, cursor=cursor)
        found += listed.items
        cursor = listed.next
        if cursor is None:
            break
    return found
