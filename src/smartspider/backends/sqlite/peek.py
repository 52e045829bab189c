"""Read a few facts of a data folder without opening it as an installation."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

from smartspider.backends.sqlite.database import FILE, translated
from smartspider.backends.sqlite.schema import check_format
from smartspider.store import statements
from smartspider.store.database import Row

SQL = statements.load("sql/peek.sql", __package__)

WAIT_MS = 1_000
"""Time to wait for another program that locks the file."""


class RunFact(NamedTuple):
    """A run of a data folder; the newest is the greatest."""

    created_at: float
    id: int
    task: str


def newest_run(folder: Path) -> RunFact | None:
    """Return the newest run of a folder, if it has any."""
    return next((RunFact(*row) for row in _read(folder, SQL.newest_run)), None)


def last_run_id(folder: Path) -> int:
    """Return the last id that was given to a run, which may be deleted; 0 before the first."""
    return next((int(row[0]) for row in _read(folder, SQL.last_run_id)), 0)


def has_run(folder: Path, run_id: int) -> bool:
    """Return True if the folder has a run with this id."""
    return bool(_read(folder, SQL.has_run, run_id))


def task_names(folder: Path) -> set[str]:
    """Return the names of the folder's tasks, with those of deleted tasks that have runs."""
    return {row[0] for row in _read(folder, SQL.task_names)}


def _read(folder: Path, sql: str, *values: object) -> list[Row]:
    """Return the rows of a statement; raise `StoreUnavailable` if the folder cannot be read."""
    with translated(folder):
        connection = apsw.Connection(str(folder / FILE), flags=apsw.SQLITE_OPEN_READWRITE)
        with closing(connection):
            connection.set_busy_timeout(WAIT_MS)
            return connection.execute(sql, values).fetchall() if check_format(connection, folder) else []
