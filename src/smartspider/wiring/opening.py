"""Open an installation with the technology its settings name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from smartspider.core.extras import require_extra
from smartspider.core.tasks import SYSTEM
from smartspider.installation.data_folder import HOME, folder_of
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings
from smartspider.wiring.folder import open_folder

SERVER = "server"
CLUSTER = "cluster"

CONNECTIONS = {"worker": 3, "api": 8, "keeper": 4, "command": 2}
"""Connections to the store, by the role of the process."""


def files_folder(data: Path | None, settings: Settings) -> Path:
    """Return the folder of a server's files: its data folder, or on a cluster that of this machine."""
    return data or HOME / CLUSTER if settings.is_cluster else folder_of(data, SERVER)


KEYED_ROLES = ("api", "keeper")
"""Roles that need the master key: without it a cluster does not start."""


@asynccontextmanager
async def open_installation(
    path: Path, settings: Settings, role: str = "command", *, actor: str = SYSTEM
) -> AsyncIterator[Installation]:
    """Open the data folder at `path`, or the cluster of the settings with `path` for local files."""
    if not settings.is_cluster:
        with open_folder(path, actor, settings) as folder:
            yield folder
        return
    require_extra("a cluster", "cluster")
    from smartspider.wiring.cluster import open_cluster

    async with open_cluster(settings, path, actor=actor, connections=CONNECTIONS[role]) as cluster:
        if role in KEYED_ROLES:
            cluster.check_keys()
        yield cluster
