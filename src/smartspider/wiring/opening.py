"""Open an installation with the technology its settings name: a data folder, or a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path

from smartspider.backends.sqlite.database import FILE, SqliteDatabase, connect
from smartspider.backends.sqlite.demand import SqliteDemand
from smartspider.backends.sqlite.frontier import SqliteFrontier, SqlitePermits, SqliteReplay
from smartspider.backends.sqlite.gates.machine_gates import MachineGates
from smartspider.backends.sqlite.ledger import SqliteLedger
from smartspider.backends.sqlite.move_marker import folder_moved, read_marker
from smartspider.backends.sqlite.run_ids import SharedRunIds
from smartspider.backends.sqlite.schema import prepare
from smartspider.backends.sqlite.store import SqliteHealth, SqliteStore
from smartspider.backends.sqlite.store_clock import SqliteStoreClock
from smartspider.backends.sqlite.worker_locks import sqlite_workers
from smartspider.core.errors import SettingInvalid
from smartspider.core.extras import require_extra
from smartspider.core.tasks import SYSTEM
from smartspider.engine.runtime import SystemClock
from smartspider.installation.data_folder import HOME, DataFolder, folder_of
from smartspider.installation.database_clock import DatabaseClock
from smartspider.installation.gates_folder import gates_folder
from smartspider.installation.installation import Installation
from smartspider.installation.keys import FILE as KEY_FILE
from smartspider.installation.settings import Settings, read_settings
from smartspider.installation.vault import Vault
from smartspider.store.nodes.leadership import SqlLeadership
from smartspider.store.requests import SqlStoredUrls

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
            if role != "command":
                await folder.vault.check()
            yield folder
        return
    require_extra("a cluster", "cluster")
    from smartspider.wiring.cluster import open_cluster

    async with open_cluster(settings, path, actor=actor, connections=CONNECTIONS[role]) as cluster:
        if role in KEYED_ROLES:
            await cluster.check_keys()
        yield cluster


@contextmanager
def open_folder(
    path: Path, actor: str = SYSTEM, settings: Settings = Settings(), *, shares_gates: bool = True
) -> Iterator[DataFolder]:
    """Open a data folder, created or migrated if needed, and close it at the end; `actor` is
    for the audit. With `shares_gates` its crawls keep the gates of all crawls of this machine.
    """
    clock = SystemClock()
    prepare(path)
    if not settings.master_key and not (path / KEY_FILE).exists():
        _check_nothing_sealed(path)
    run_ids = SharedRunIds(path.parent) if path.absolute().parent.name == HOME.name else None
    database = SqliteDatabase(path, clock, run_ids, gates_folder(settings) if shares_gates else None)
    try:
        yield DataFolder(
            path=path,
            settings=settings,
            database=database,
            store=SqliteStore(database),
            frontier=SqliteFrontier(database),
            ledger=SqliteLedger(database),
            workers=sqlite_workers(database),
            check_writable=SqliteHealth(database).check_writable,
            check_room=SqliteHealth(database).check_room,
            permits=SqlitePermits(database),
            leadership=SqlLeadership(database),
            demand=SqliteDemand(database),
            stored_urls=SqlStoredUrls(database),
            replay=SqliteReplay(database),
            clock=DatabaseClock(database, clock),
            store_clock=SqliteStoreClock(database),
            open_user_vault=partial(open_user_vault, path, settings),
            other_crawls=database.gates,
            actor=actor,
        )
    finally:
        database.close()


@contextmanager
def open_user_vault(path: Path, settings: Settings) -> Iterator[Vault | None]:
    """Open the vault of a person's commands: that of the settings or of the server; None if it is not there,
    or in the folder at `path`.
    """
    folder = vault_folder(settings)
    if not (folder / FILE).exists() or folder.resolve() == path.resolve():
        yield None
        return
    with open_folder(folder, settings=settings, shares_gates=False) as opened:
        yield opened.vault


def vault_folder(settings: Settings) -> Path:
    """Return the data folder with the vault of a person's commands."""
    return Path(settings.vault) if settings.vault else HOME / SERVER


def _check_nothing_sealed(path: Path) -> None:
    """Raise `SettingInvalid` for a folder that lost the key of its vault: no other one is created for it."""
    with closing(connect(path / FILE)) as connection:
        is_sealed = connection.execute("SELECT 1 FROM sealed LIMIT 1").fetchone() is not None
    if is_sealed:
        raise SettingInvalid(
            f"{path / KEY_FILE} is missing, and the secrets in {path} are encrypted with it",
            hint="restore it from a backup, or set SMARTSPIDER_MASTER_KEY if they were set with that",
        )


def gates_note(settings: Settings) -> str:
    """Return a note if crawls of this machine cannot share the gates of hosts; empty if they can, or the
    settings turn it off.
    """
    gates = MachineGates(gates_folder(settings), "check", SystemClock())
    gates.open()
    gates.close()
    if not gates.problem:
        return ""
    return (
        f"{gates.problem}, so crawls in other folders are not seen: together they may send more to a host"
        " than each of them; set SMARTSPIDER_GATES_FOLDER to a folder that can be written, or to `off`"
    )


def check_not_moved(path: Path) -> None:
    """Raise `NotAllowed` for a folder that was or is being moved, unless the settings name a cluster."""
    if not read_settings().is_cluster:
        check_folder_not_moved(path)


def check_folder_not_moved(path: Path) -> None:
    """Raise `NotAllowed` for a folder that was or is being moved, whatever the settings."""
    if not (path / FILE).exists():
        return
    prepare(path)
    with closing(connect(path / FILE)) as connection:
        marker = read_marker(connection)
    if marker is not None:
        raise folder_moved(marker, path)
