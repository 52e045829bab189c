"""One way to open an installation, whichever technology its settings name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from smartspider.core.errors import SettingInvalid
from smartspider.core.tasks import SYSTEM
from smartspider.services.keys import Keys, open_keys
from smartspider.wiring.folder import HOME, folder_of, open_folder
from smartspider.wiring.premises import Premises
from smartspider.wiring.settings import Settings

SERVER = "server"
CLUSTER = "cluster"

NO_KEY = "SMARTSPIDER_MASTER_KEY is not set, and all machines of a cluster need the same"
KEY_HINT = "`openssl rand -hex 32` makes one; give it to every api and keeper"

CONNECTIONS = {"worker": 3, "api": 8, "keeper": 4, "command": 2}
"""To the store, by what a process is there for."""


def place_of(data: Path | None, settings: Settings) -> Path:
    """Where the files of a server's processes are: its data folder, or on a cluster those of this machine."""
    return data or HOME / CLUSTER if settings.is_cluster else folder_of(data, SERVER)


@asynccontextmanager
async def open_premises(
    path: Path, settings: Settings, role: str = "command", *, actor: str = SYSTEM
) -> AsyncIterator[Premises]:
    """The data folder at `path`; or a cluster, with `path` for the files of this machine."""
    if not settings.is_cluster:
        with open_folder(path, actor) as folder:
            yield folder
        return
    from smartspider.wiring.cluster import open_cluster

    async with open_cluster(settings, path, actor=actor, connections=CONNECTIONS[role]) as cluster:
        yield cluster


def keys_of(premises: Premises, settings: Settings) -> Keys:
    """The keys of an installation: those of its settings, or of its data folder."""
    if premises.is_cluster and not settings.master_key:
        raise SettingInvalid(NO_KEY, hint=KEY_HINT)
    return open_keys(premises.path, settings.master_key)
