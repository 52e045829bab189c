"""Opening a data folder: a new one gets its tables, one of another format is refused."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import apsw

from smartspider.backends.sqlite.database import FILE, connect, translated
from smartspider.backends.sqlite.file_systems import network_file_system
from smartspider.core.errors import StoreUnavailable
from smartspider.store import statements

APPLICATION_ID = 0x53535043
VERSION = 8
"""Raise it with every change to `schema.sql`, and bring older folders to it in `_bring_to_version`."""

OTHERS = 0o077
"""Permissions of group and others."""
PRIVATE = ("logs", "master.key")


def prepare(folder: Path) -> None:
    """Make sure that the folder holds a database of `VERSION`. Raise `StoreUnavailable` if it cannot."""
    _make_folder(folder)
    _refuse_network(folder)
    _make_private(folder / FILE)
    connection = connect(folder / FILE)
    try:
        with translated(folder):
            connection.set_busy_timeout(10_000)
            _bring_to_version(connection, folder)
    finally:
        connection.close()


def _bring_to_version(connection: apsw.Connection, folder: Path) -> None:
    if not check_format(connection, folder):
        _create(connection, folder)


def check_format(connection: apsw.Connection, folder: Path) -> bool:
    """Return False for an empty database; raise `StoreUnavailable` for one of another format or program."""
    found = connection.pragma("user_version")
    if found == 0:
        return False
    if connection.pragma("application_id") != APPLICATION_ID:
        raise StoreUnavailable(
            f"{folder / FILE} is not a data folder of this SmartSpider: it belongs to another program or a"
            " pre-release",
            hint="use another --data folder",
        )
    if found != VERSION:
        raise StoreUnavailable(
            f"the data folder {folder} has format {found}, this SmartSpider reads format {VERSION}",
            hint="use the SmartSpider version that wrote it, or another --data folder",
        )
    return True


def _create(connection: apsw.Connection, folder: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.pragma("user_version") == 0:
            _refuse_foreign(connection, folder)
            connection.execute(statements.text("sql/schema.sql", __package__))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _refuse_foreign(connection: apsw.Connection, folder: Path) -> None:
    if connection.execute("SELECT count(*) FROM sqlite_schema").get:
        raise StoreUnavailable(
            f"{folder / FILE} is a database of another program", hint="use another --data folder"
        )


def _make_folder(folder: Path) -> None:
    try:
        # Tasks may hold headers with secrets.
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreUnavailable(
            f"the data folder {folder} cannot be created: {error.strerror or error}",
            hint="choose another path with --data",
        ) from error


def _make_private(file: Path) -> None:
    """Create the database for its owner alone, or make an existing one so; SQLite gives the files beside it
    the same mode. One that belongs to another user stays as it is, which `doctor` reports.
    """
    with contextlib.suppress(PermissionError):
        try:
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            if file.stat().st_mode & OTHERS:
                file.chmod(0o600)
        except OSError:
            return  # opening the database reports it


def exposed_files(folder: Path) -> list[str]:
    """Return what may hold secrets in a data folder and can be read by other users of the machine."""
    if not folder.stat().st_mode & OTHERS:
        return []
    files = [*folder.glob(f"{FILE}*"), *(folder / name for name in PRIVATE)]
    return sorted(file.name for file in files if file.exists() and file.stat().st_mode & OTHERS)


def _refuse_network(folder: Path) -> None:
    """Raise `StoreUnavailable` on a network file system."""
    if kind := network_file_system(folder):
        raise StoreUnavailable(
            f"the data folder {folder} is on a network file system ({kind})",
            hint="put it on a local disk with --data; SQLite cannot be shared safely over a network",
        )
