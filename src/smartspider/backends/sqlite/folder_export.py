"""Exporting a data folder to another store: the folder is locked, and its tables are read one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import apsw
import msgspec

from smartspider.backends.sqlite.database import FILE, SqliteConnection, translated
from smartspider.backends.sqlite.move_marker import (
    MoveMarker,
    cancel_move,
    read_cancelled,
    read_marker,
    write_marker,
)
from smartspider.backends.sqlite.store_time import follow_wall_clock
from smartspider.core.errors import NotAllowed
from smartspider.core.logs import LogLine
from smartspider.interfaces.machine_clock import MachineClock
from smartspider.store import statements
from smartspider.store.audit import AuditCheck, AuditLog
from smartspider.store.logs.terms import line_terms

if TYPE_CHECKING:
    from smartspider.store.database import Database

T = TypeVar("T")

SQL = statements.load("sql/folder_export.sql", __package__)

Values = tuple[Any, ...]


class ExportedTable(msgspec.Struct, frozen=True):
    """A table to export, in the order of a key."""

    name: str
    key: tuple[str, ...] = ("id",)
    shifted: tuple[str, ...] = ()
    """Due times, shifted by the difference of the clocks of both stores."""
    at_once: int = 5000
    """Rows read at once; fewer for large rows."""


class ExportBatch(msgspec.Struct, frozen=True):
    """Consecutive rows, and the key of the last one; None if there are none left."""

    rows: list[Values]
    last: Values | None


TABLES = (
    ExportedTable("host", shifted=("sent_until", "held_until", "slowed_at")),
    ExportedTable("owner_gate", ("owner", "host_id"), shifted=("held_until",)),
    ExportedTable("task"),
    ExportedTable("task_version", ("task_id", "number"), at_once=500),
    ExportedTable("url", shifted=("due_at",)),
    ExportedTable("item", at_once=2000),
    ExportedTable("item_key", ("scope", "key")),
    ExportedTable("reject"),
    ExportedTable("cleaning"),
    ExportedTable("step_count", ("run_id", "step")),
    ExportedTable("left_out", ("run_id", "fingerprint")),
    ExportedTable("left_out_count", ("run_id", "code", "is_next_page")),
    ExportedTable("file", ("run_id", "fingerprint")),
    ExportedTable("list_page", ("chain", "digest")),
    ExportedTable("run_cookie", ("run_id", "domain", "path", "name")),
    ExportedTable("visited", ("task_id", "fingerprint"), at_once=500),
    ExportedTable("attempt"),
    ExportedTable("robots", ("origin",), at_once=200),
    ExportedTable("visit", ("run_id", "host_id")),
    ExportedTable("send", ("host_id", "at", "token")),
    ExportedTable("audit"),
    ExportedTable("event"),
    ExportedTable("run_point", ("run_id", "number")),
    ExportedTable("log"),
    ExportedTable("user"),
    ExportedTable("token"),
    ExportedTable("refresh", ("hash",)),
    ExportedTable("browser_session", ("hash",)),
    ExportedTable("ticket", ("hash",)),
    ExportedTable("answer", ("actor", "key"), at_once=500),
    ExportedTable("metric", ("name", "labels")),
    ExportedTable("vault"),
    ExportedTable("secret"),
    ExportedTable("sealed", ("kind", "id")),
    ExportedTable("proxy", shifted=("banned_until",)),
    ExportedTable("cookie_set"),
    ExportedTable("cookie_slot", ("set_id", "number"), shifted=("until",)),
    ExportedTable("stored_cookie"),
    ExportedTable("notification_target"),
    ExportedTable("notification", shifted=("due_at",)),
    ExportedTable("firing", ("schedule_id", "fire_at")),
    ExportedTable("schedule"),
    ExportedTable("run", shifted=("resumed_at", "asked_at", "told_at", "point_at"), at_once=500),
)
"""All tables that are exported row by row; those that start work come last."""

NOT_EXPORTED = ("worker", "lane", "queue", "later", "lease", "leader", "scaling", "clock")
"""The frontier is an index of the open rows, and workers, leaders and clocks do not move."""
SINGLE = ("meta", "audit_head", "log_size")
"""Tables of one row, exported as `StoreCounters`."""

COUNTED = (
    "task",
    "run",
    "host",
    "attempt",
    "event",
    "log",
    "user",
    "token",
    "schedule",
    "secret",
    "proxy",
    "cookie_set",
    "stored_cookie",
    "notification_target",
    "notification",
)
"""Tables whose rows are numbered by the store."""


class StoreCounters(msgspec.Struct, frozen=True):
    """The state of a store besides its rows."""

    numbers: dict[str, int]
    """The greatest number given so far, by table: none is given twice."""
    audit_last: int
    audit_hash: str
    log_bytes: int
    last_notified: int | None
    """The last event for which notifications were created."""


class FolderExport:
    """A data folder, locked for other processes until it is closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with translated(folder):
            self._connection = apsw.Connection(str(folder / FILE))
        try:
            self._lock()
            self.marker = read_marker(self._connection)
            self.cancelled_moves = read_cancelled(self._connection)
            """Ids of cancelled moves."""
        except BaseException:
            self._connection.close()
            raise

    def _lock(self) -> None:
        """Take the lock that every connection to a file with a write-ahead log shares, exclusively."""
        with translated(self.folder):
            try:
                self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._connection.execute("BEGIN EXCLUSIVE; COMMIT")
            except (apsw.BusyError, apsw.LockedError) as error:
                raise NotAllowed(
                    f"the data folder {self.folder} is in use by another program",
                    hint="stop the crawl, server or program that uses it, and run the same command again",
                ) from error

    def set_marker(self, marker: MoveMarker | None) -> None:
        """Record where the folder moves, durably."""
        with translated(self.folder):
            write_marker(self._connection, marker)
        self.marker = marker

    def cancel_move(self, marker: MoveMarker) -> None:
        """Remove the marker, and remember the move as cancelled."""
        with translated(self.folder):
            cancel_move(self._connection, marker)
        self.marker, self.cancelled_moves = None, [*self.cancelled_moves, marker.id]

    def now(self, clock: MachineClock) -> float:
        """Return store time."""
        with translated(self.folder), self._connection:
            shift = follow_wall_clock(SqliteConnection(self._connection), clock)
        return clock.monotonic() + shift

    def counts(self) -> dict[str, int]:
        """Return the number of rows of all exported tables."""
        names = [table.name for table in TABLES]
        return {name: self._one(f"SELECT count(*) FROM {name}") for name in names}  # noqa: S608 - names of our own tables

    def open_rows(self) -> int:
        """Return the number of open requests of unfinished runs."""
        return int(self._one(SQL.open_rows))

    def counters(self) -> StoreCounters:
        """Return what the store keeps besides its rows."""
        with translated(self.folder):
            given = dict(self._connection.execute(SQL.numbers))
            ((last, head),) = self._connection.execute(SQL.audit_head)
        numbers = {
            name: max(given.get(name, 0), self._one(f"SELECT coalesce(max(id), 0) FROM {name}"))  # noqa: S608 - ours
            for name in (*COUNTED, "worker")
        }
        return StoreCounters(
            numbers=numbers,
            audit_last=last,
            audit_hash=head,
            log_bytes=self._one(SQL.log_bytes),
            last_notified=self._one(SQL.last_notified),
        )

    async def verify_audit(self) -> AuditCheck:
        """Verify the audit log."""
        return await AuditLog(cast("Database", self)).verify()

    async def read(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run `work`; nothing changes meanwhile."""
        with translated(self.folder):
            return work(SqliteConnection(self._connection))

    def columns(self, table: ExportedTable) -> list[str]:
        """Return the columns of a batch, as named in the other store."""
        return [*self._kinds(table), *EXTRA.get(table.name, ())]

    def batch(
        self, table: ExportedTable, after: Values | None, *, shift_s: float = 0.0, is_careful: bool = False
    ) -> ExportBatch:
        """Return the next rows after a key. With `is_careful`, text is made storable in any store."""
        kinds = self._kinds(table)
        chosen = [_expression(table, name, kind, is_careful=is_careful) for name, kind in kinds.items()]
        chosen += ["(SELECT due_at + :shift FROM later WHERE url_id = url.id)"] if table.name == "url" else []
        keys = ", ".join(table.key)
        marks = ", ".join(f":k{place}" for place in range(len(table.key)))
        later = f"WHERE ({keys}) > ({marks})" if after is not None else ""
        wanted = ", ".join([*chosen, *table.key])
        sql = f"SELECT {wanted} FROM {table.name} {later} ORDER BY {keys} LIMIT :limit"  # noqa: S608 - ours
        values = {f"k{place}": value for place, value in enumerate(after or ())}
        values |= {"limit": table.at_once, "shift": shift_s}
        with translated(self.folder):
            found = self._connection.execute(sql, values).fetchall()
        width = len(chosen)
        rows = [row[:width] for row in found]
        if is_careful:
            texts = {at for at, kind in enumerate(kinds.values()) if kind == "TEXT"}
            rows = [_careful(row, texts) for row in rows]
        if table.name == "log":
            names = list(kinds)
            rows = [(*row, _words(dict(zip(names, row, strict=True)))) for row in rows]
        return ExportBatch(rows, found[-1][width:] if found else None)

    def _kinds(self, table: ExportedTable) -> dict[str, str]:
        with translated(self.folder):
            return {
                name: kind
                for _, name, kind, *_ in self._connection.execute(f"PRAGMA table_info({table.name})")
            }

    def _one(self, sql: str) -> Any:
        with translated(self.folder):
            return self._connection.execute(sql).get

    def close(self) -> None:
        """Unlock the folder."""
        self._connection.close()


EXTRA = {"url": ("due_at",), "log": ("words",)}
"""Columns that only the other store has."""


def _expression(table: ExportedTable, name: str, kind: str, *, is_careful: bool) -> str:
    """Return a column as one type of value, whatever was stored in it."""
    if name in table.shifted:
        return f"CASE WHEN {name} > 0 THEN {name} + :shift ELSE {name} END"
    if kind == "TEXT":
        return f"CAST({name} AS {'BLOB' if is_careful else 'TEXT'})"
    return f"CAST({name} AS BLOB)" if kind == "BLOB" else name


def _careful(row: Values, texts: set[int]) -> Values:
    return tuple(_clean(value) if at in texts else value for at, value in enumerate(row))


def _clean(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace").replace("\0", "\ufffd")


def _words(line: dict[str, Any]) -> list[str]:
    """Return the index terms of a log line."""
    kept = LogLine(
        at=line["at"],
        level=line["level"],
        event=line["event"],
        text=line["text"],
        worker=line["worker"],
        task_id=line["task_id"],
        run_id=line["run_id"],
        host=line["host"],
        url=line["url"],
        error=line["error"],
    )
    return line_terms(kept).split(" ")
