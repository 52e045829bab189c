"""The target of a command: a data folder, a cluster or a server, selected by the same options everywhere."""

from __future__ import annotations

import functools
import getpass
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from smartspider.cli.profile_file import LOCAL, Profile

if TYPE_CHECKING:
    from smartspider.core.errors import SmartSpiderError
    from smartspider.installation.installation import Installation
    from smartspider.installation.local_runs import LocalRuns
    from smartspider.installation.settings import Settings
    from smartspider.operations.table import AllOperations
    from smartspider.views.listed import Listed

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

CA_FILE = "SMARTSPIDER_CA_FILE"
CLUSTER = "the cluster"
"""Display name of the cluster that the settings name."""
PAGE = 1000
"""Page size of list requests."""

_OPTIONS = (
    click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder."),
    click.option("--server", default=None, metavar="URL", help="URL of a server, instead of a data folder."),
    click.option("--token", default=None, help="API token.  [env: SMARTSPIDER_TOKEN]"),
    click.option("--profile", default=None, metavar="NAME", help="Profile of a server."),
)


def with_target(command: F) -> F:
    """Add the options that select the target; the command gets it as `target`."""

    @functools.wraps(command)
    def wrapper(*args: Any, **options: Any) -> Any:
        target = Target(*(options.pop(name) for name in ("data", "server", "token", "profile")))
        return command(*args, target=target, **options)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return wrapper  # type: ignore[return-value]  # with the signature that click sees


class Target(msgspec.Struct, frozen=True, dict=True):
    """The data folder, cluster or server that a command works on, by its options and the settings."""

    data: Path | None = None
    server: str | None = None
    token: str | None = None
    profile: str | None = None

    @cached_property
    def settings(self) -> Settings:
        """The settings, read once."""
        from smartspider.installation.settings import read_settings

        return read_settings()

    def run(self, work: Callable[[AllOperations], Awaitable[T]], *, task: str | None = None) -> T:
        """Run a function with the operations of the target: the data folder with a task, or the last used."""
        from smartspider.wiring.processes.lifecycle import run_loop

        return run_loop(self._run(work, lambda: self.folder(task)))

    def run_at(
        self, run_id: str | None, work: Callable[[AllOperations], Awaitable[T]], *, task: str | None = None
    ) -> T:
        """Run a function where a run is: the data folder that has it, or the one with the newest run of a
        task, or of all.
        """
        from smartspider.wiring.processes.lifecycle import run_loop

        return run_loop(self._run(work, lambda: self._folder_of_run(run_id, task)))

    def run_everywhere(self, work: Callable[[AllOperations], Awaitable[T]]) -> list[tuple[Path | None, T]]:
        """Run a function in each data folder here, or only at the server, cluster or folder that is named.

        Return its results with the folders they are from, None for the place that is named. A folder that
        cannot be read is noted and left out.
        """
        from smartspider.wiring.processes.lifecycle import run_loop

        if self.data is not None or self.remote() is not None or self.is_cluster():
            return [(None, self.run(work))]
        return run_loop(_run_in_all_folders(self.settings, work))

    def run_in_folder(self, folder: Path, work: Callable[[AllOperations], Awaitable[T]]) -> T:
        """Run a function with the operations of a data folder, which is created if it does not exist."""
        from smartspider.wiring.processes.lifecycle import run_loop

        return run_loop(_run_in_folder(folder, self.settings, work))

    async def _run(self, work: Callable[[AllOperations], Awaitable[T]], find_folder: Callable[[], Path]) -> T:
        remote = self.remote()
        if remote is not None:
            from smartspider.client import Client

            async with Client(remote.url, remote.token, ca_file=remote.ca_file) as client:
                return await work(client)
        if self.is_cluster():
            return await _run_in_cluster(self.settings, work)
        return await _run_in_folder(find_folder(), self.settings, work)

    def remote(self) -> Profile | None:
        """Return the server; None for a data folder or a cluster."""
        from smartspider.cli.profile_file import read_profiles

        self._check()
        if self.data is not None:
            return None
        settings = self.settings
        url = self.server or ("" if self.profile else settings.server)
        if url:
            token = self.token or settings.token or None
            return Profile(url, token, os.environ.get(CA_FILE) or None)
        profiles = read_profiles()
        name = self.profile or settings.profile or _current_profile(settings, profiles.current)
        if name is None or name == LOCAL:
            return None
        saved = profiles.get(name)
        token = self.token or saved.token or settings.token or None
        return Profile(saved.url, token, saved.ca_file or os.environ.get(CA_FILE) or None)

    def is_cluster(self) -> bool:
        """Return True if the target is the cluster of the settings."""
        return self.data is None and self.remote() is None and self.settings.is_cluster

    def folder(self, task: str | None = None) -> Path:
        """Return the data folder to read: the one with a task, or the last used."""
        from smartspider.installation.data_folder import find_folder

        if self.data is not None or task is None:
            return find_folder(self.data)
        with _noted_local_runs() as runs:
            return runs.folder_of_task(task)

    def _folder_of_run(self, run_id: str | None, task: str | None) -> Path:
        from smartspider.core.errors import NotFound
        from smartspider.services.inputs import is_id

        if self.data is not None or (run_id is None and task is not None):
            return self.folder(task)
        if run_id is not None and not is_id(run_id):
            hint = "ids of runs are numbers; `smartspider run list` lists the runs"
            raise NotFound(f"there is no run {run_id[:40]!r}", hint=hint)
        with _noted_local_runs() as runs:
            return runs.newest_folder() if run_id is None else runs.folder_of_run(int(run_id))

    def _check(self) -> None:
        given = {"--data": self.data, "--server": self.server, "--profile": self.profile}
        named = [option for option, value in given.items() if value is not None]
        if len(named) > 1:
            raise click.UsageError(f"{' and '.join(named)} are mutually exclusive.")
        if self.data is not None and self.token is not None:
            raise click.UsageError("--token requires --server or --profile.")


@contextmanager
def _noted_local_runs() -> Iterator[LocalRuns]:
    """Open the runs of the data folders here; at the end, note the folders that cannot be read."""
    from smartspider.installation.local_runs import LocalRuns

    runs = LocalRuns()
    yield runs
    for one in runs.unreadable:
        _note_unreadable(one.error)


def _note_unreadable(error: SmartSpiderError) -> None:
    from smartspider.cli.terminal.output import print_message

    print_message(f"note: skipped: {error.message}")


async def _run_in_all_folders(
    settings: Settings, work: Callable[[AllOperations], Awaitable[T]]
) -> list[tuple[Path | None, T]]:
    from smartspider.core.errors import StoreUnavailable

    found: list[tuple[Path | None, T]] = []
    with _noted_local_runs() as runs:
        runs.newest_folder()  # raises an error if there is none
        for folder in runs.newest:
            try:
                found.append((folder, await _run_in_folder(folder, settings, work)))
            except StoreUnavailable as error:
                _note_unreadable(error)
    return found


async def _run_in_folder(
    folder: Path, settings: Settings, work: Callable[[AllOperations], Awaitable[T]]
) -> T:
    from smartspider.wiring.opening import open_folder

    with open_folder(folder, cli_actor(), settings) as installation:
        async with _local_operations(installation) as operations:
            return await work(operations)


async def _run_in_cluster(settings: Settings, work: Callable[[AllOperations], Awaitable[T]]) -> T:
    from smartspider.wiring.opening import files_folder, open_installation

    path = files_folder(None, settings)
    async with (
        open_installation(path, settings, actor=cli_actor()) as installation,
        _local_operations(installation) as operations,
    ):
        return await work(operations)


@asynccontextmanager
async def _local_operations(installation: Installation) -> AsyncIterator[AllOperations]:
    """Open the operations of an installation as admin: file and database permissions decided already."""
    from smartspider.core.access import Principal
    from smartspider.operations.local import LocalOperations
    from smartspider.operations.services import Services

    services = Services(installation)
    try:
        yield LocalOperations(services, Principal(installation.actor, "admin"))
    finally:
        await services.close()


def local_installation(operations: AllOperations) -> Installation | None:
    """Return the installation that operations run on; None if they are sent to a server."""
    from smartspider.operations.local import LocalOperations

    return operations.services.installation if isinstance(operations, LocalOperations) else None


def cli_actor() -> str:
    """Return the actor of audit entries: `cli:` and the name of the operating-system user, or its number."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid-{os.getuid()}"
    return f"cli:{name}".encode(errors="replace").decode()


def _current_profile(settings: Settings, current: str | None) -> str | None:
    """Return the current profile, unless the settings name a data folder or a cluster."""
    return None if settings.is_cluster or settings.data_folder is not None else current


def limit_option(default: int, noun: str) -> Callable[[F], F]:
    """Add the option `--limit` of commands that list something."""
    about = f"Maximum number of {noun}."
    return click.option("--limit", type=click.IntRange(1), default=default, show_default=True, help=about)


async def collect(
    fetch: Callable[..., Awaitable[Listed[T]]], limit: int | None = None, *, page: int = PAGE
) -> list[T]:
    """Return the first `limit` elements of a paginated list, or all of them."""
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
