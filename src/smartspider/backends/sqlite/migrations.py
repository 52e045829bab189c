"""Opening a data folder: made when new, migrated after a copy when old, refused when newer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw

from smartspider.backends.sqlite.database import FILE, SqliteConnection, connect, translated
from smartspider.backends.sqlite.worker_locks import FileLock
from smartspider.core.errors import StoreUnavailable
from smartspider.store import audit, statements

APPLICATION_ID = 0x53535044
VERSION = 4

Migration = Callable[[apsw.Connection], None]


def _to_2(connection: apsw.Connection) -> None:
    connection.execute(statements.text("sql/to_2.sql", __package__))
    audit.adopt(SqliteConnection(connection))


def _to_3(connection: apsw.Connection) -> None:
    connection.execute(statements.text("sql/to_3.sql", __package__))


def _to_4(connection: apsw.Connection) -> None:
    connection.execute(statements.text("sql/to_4.sql", __package__))


MIGRATIONS: dict[int, Migration] = {1: _to_2, 2: _to_3, 3: _to_4}
"""From version n to n + 1, by n. Each runs in one transaction with the version it leads to."""

NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph"})


def prepare(folder: Path, migrations: dict[int, Migration] | None = None, version: int = VERSION) -> None:
    """Make sure the folder holds a database of `version`, or say why it cannot."""
    _make_folder(folder)
    _refuse_network(folder)
    connection = connect(folder / FILE)
    try:
        with translated(folder):
            _bring_to(connection, folder, MIGRATIONS if migrations is None else migrations, version)
    finally:
        connection.close()


def _bring_to(
    connection: apsw.Connection, folder: Path, migrations: dict[int, Migration], version: int
) -> None:
    connection.set_busy_timeout(10_000)
    found = connection.pragma("user_version")
    if found == 0:
        _create(connection, folder, version)
    elif connection.pragma("application_id") != APPLICATION_ID:
        raise StoreUnavailable(
            f"{folder / FILE} is not a SmartSpider data folder", hint="use another --data folder"
        )
    elif found > version:
        raise StoreUnavailable(
            f"the data folder {folder} was written by a newer SmartSpider (format {found}, this one knows"
            f" {version})",
            hint="update SmartSpider, or use another --data folder",
        )
    elif found < version:
        _migrate(connection, folder, migrations, version)


def _migrate(
    connection: apsw.Connection, folder: Path, migrations: dict[int, Migration], version: int
) -> None:
    """One program at a time: a second one would copy, and then migrate again, what the first has migrated."""
    lock = FileLock(folder / "migration.lock")
    if not lock.acquire():
        raise StoreUnavailable(
            f"the data folder {folder} is being migrated by another program", hint="try again in a moment"
        )
    try:
        found = connection.pragma("user_version")
        if found < version:
            _copy(connection, folder, found)
        for step in range(found, version):
            with connection:
                migrations[step](connection)
                connection.execute(f"PRAGMA user_version = {step + 1}")
    finally:
        lock.release(remove=True)


def _create(connection: apsw.Connection, folder: Path, version: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.pragma("user_version") == 0:
            _refuse_foreign(connection, folder)
            connection.execute(statements.text("sql/schema.sql", __package__))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _refuse_foreign(connection: apsw.Connection, folder: Path) -> None:
    if connection.execute("SELECT count(*) FROM sqlite_schema").get:
        raise StoreUnavailable(
            f"{folder / FILE} is a database of something else", hint="use another --data folder"
        )


def _copy(connection: apsw.Connection, folder: Path, found: int) -> None:
    """A whole copy beside the file, before anything in it is changed."""
    target = folder / f"smartspider.before-format-{found + 1}.db"
    free = shutil.disk_usage(folder).free
    if free < (folder / FILE).stat().st_size * 2:
        raise StoreUnavailable(
            f"the data folder {folder} must be migrated, and there is no room for a copy of it",
            hint="free some space and run the same command again",
        )
    target.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(target),))


def _make_folder(folder: Path) -> None:
    try:
        # Tasks may hold headers that nobody else should see.
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreUnavailable(
            f"the data folder {folder} cannot be made: {error.strerror or error}",
            hint="choose another place with --data",
        ) from error


def _refuse_network(folder: Path) -> None:
    """SQLite's locks cannot be trusted over a network file system, and with them neither can a crawl."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return
    place = folder.resolve()
    best, kind = -1, ""
    for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.split(" ")
        point = Path(fields[1].replace("\\040", " "))
        if (place == point or point in place.parents) and len(point.parts) > best:
            best, kind = len(point.parts), fields[2]
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreUnavailable(
            f"the data folder {folder} is on a network file system ({kind})",
            hint="put it on a local disk with --data; SQLite cannot be shared safely over a network",
        )
