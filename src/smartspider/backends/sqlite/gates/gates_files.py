"""The files of the gates that all crawls of a user on this machine share."""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from pathlib import Path

import apsw

from smartspider.backends.sqlite.gates.crawl_lock import crawl_lives
from smartspider.store import statements

SQL = statements.load("machine_gates.sql", __package__)

SETUP_MS = 2000
"""Time to wait for a process that creates the file at the same moment."""
CHANGES = 8
"""Bytes of the counter of changes."""
OLD_S = 7 * 86_400.0
"""Files of earlier starts of the machine are removed after this time."""


def map_changes(path: Path) -> mmap.mmap:
    """Map the counter of changes, shared with all processes that do."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(handle, CHANGES)
        return mmap.mmap(handle, CHANGES)
    finally:
        os.close(handle)


def connect_gates(path: str) -> apsw.Connection:
    """Open the file. It is of no use after the machine was started again, so nothing is synced."""
    connection = apsw.Connection(path, statementcachesize=50)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.set_busy_timeout(SETUP_MS)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(SQL.schema)
    return connection


def sweep(folder: Path, current: str) -> None:
    """Remove what crawls that were killed and earlier starts of the machine left behind, but no file whose
    name begins with `current`.
    """
    before = time.time() - OLD_S
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.suffix == ".lock":
                crawl_lives(path, remove=True)
            elif not path.name.startswith(current) and path.stat().st_mtime < before:
                path.unlink()
