"""The connection to the data folder: transactions, store time and errors."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import apsw

from smartspider.backends.sqlite import move_marker, store_time
from smartspider.backends.sqlite.file_watch import FileWatch
from smartspider.backends.sqlite.frontier_updates import SqliteFrontierUpdates
from smartspider.backends.sqlite.gates.machine_gates import MachineGates
from smartspider.core.errors import StoreFull, StoreUnavailable
from smartspider.core.workers import activity
from smartspider.interfaces.machine_clock import MachineClock
from smartspider.store import statements
from smartspider.store.database import HostIdCache, Row, rows

FILE = "smartspider.db"
BUSY_WAIT_MS = 2
"""Time that a call may block the loop for another process; then it is retried from the loop."""
SETUP_WAIT_MS = 10_000
"""Setting up a connection may meet another process that does the same for a moment."""
LOCK_TIMEOUT_S = 30.0
CHECKPOINT_PAGES = 4000
STATEMENTS = 1000
"""Prepared statements that are kept: more than there are."""
FOLLOW_S = 5.0
"""Interval at which a process that only reads looks for a step of store time."""

T = TypeVar("T")
SQL = statements.load("sql/database.sql", __package__)


class RunIds(Protocol):
    """Ids of runs that several folders share."""

    def take(self, after: int) -> int:
        """Return the next id, greater than `after`; it is held until the transaction ends."""

    def commit(self) -> None:
        """Keep the id that was taken, if any."""

    def release(self) -> None:
        """Give the id back that was taken, if any."""


class SqliteConnection:
    """A connection for the store; the frontier is in the same file."""

    def __init__(
        self,
        connection: apsw.Connection,
        gates: MachineGates | None = None,
        run_ids: RunIds | None = None,
    ) -> None:
        self.apsw = connection
        self._gates = gates
        self._run_ids = run_ids
        self.execute = connection.execute
        self.executemany = connection.executemany
        self.changes = connection.changes
        self.frontier = SqliteFrontierUpdates(self)
        self.hosts = HostIdCache()

    @property
    def gates(self) -> MachineGates:
        """The gates that all crawls of this machine share."""
        assert self._gates is not None  # noqa: S101 - a folder that is moved sends no requests
        return self._gates

    def advance_run_ids(self) -> None:
        """Let the next run take an id that no neighbouring folder has given to a run."""
        if self._run_ids is None:
            return
        found = self.execute(SQL.last_run_id).fetchone()
        last = int(found[0]) if found else 0
        before_next = self._run_ids.take(last) - 1
        self.execute(SQL.add_run_sequence if found is None else SQL.set_run_sequence, (before_next,))


class SqliteDatabase:
    """The single connection of a process. Calls run on the event loop: they take
    milliseconds (see ADR 0003).
    """

    def __init__(
        self,
        folder: Path,
        clock: MachineClock,
        run_ids: RunIds | None = None,
        gates_folder: Path | None = None,
    ) -> None:
        self.folder = folder
        self.clock = clock
        self._shift = 0.0
        self.gates = MachineGates(gates_folder, str(folder.resolve()), clock, lambda: self._shift)
        self._run_ids = run_ids
        self._connection = connect(folder / FILE)
        self._seen = SqliteConnection(self._connection, self.gates, run_ids)
        self._checkpointer: threading.Thread | None = None
        self._watch = FileWatch(folder / FILE, clock)
        with translated(folder):
            self._connection.set_wal_hook(self._on_commit)
            self._moved = move_marker.read_marker(self._connection)
            self._shift = store_time.stored_shift(self._seen, clock)
        self._followed_at = clock.monotonic()

    def now(self) -> float:
        """Return store time, the same for all processes; see `store_time.py`."""
        return self.clock.monotonic() + self._shift

    def clock_shift(self) -> float:
        """Return by how much this process's monotonic clock is ahead of store time."""
        return -self._shift

    async def write(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run `work` in a write transaction. The loop is not blocked while another process writes."""
        if self._moved is not None:
            raise move_marker.folder_moved(self._moved, self.folder)
        self._watch.check()
        with translated(self.folder):
            await self._begin()
            activity.enter(activity.STORE)
            try:
                return self._finish(self._timed(work))
            finally:
                activity.end()

    async def write_concurrently(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run `work` like `write`: a file has one writer at a time."""
        return await self.write(work)

    async def read(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run `work` on a consistent snapshot."""
        self._watch.check()
        with translated(self.folder):
            self._connection.execute("BEGIN")
            self._seen.hosts.begin()
            try:
                self._follow_others()
                return work(self._seen)
            except UnicodeDecodeError as error:
                raise StoreUnavailable(
                    f"the data folder {self.folder} is damaged: a text cannot be read ({error.reason})",
                    hint="run `smartspider fsck --data DIR`, restore a copy, or use another --data folder",
                ) from error
            finally:
                self._roll_back()

    def _follow_others(self) -> None:
        """Learn of steps of store time in a process that only reads."""
        if self.clock.monotonic() >= self._followed_at + FOLLOW_S:
            self._followed_at = self.clock.monotonic()
            self._shift = store_time.stored_shift(self._seen, self.clock)

    async def fetch(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of one read-only statement."""
        return await self.read(lambda connection: rows(connection, sql, values))

    async def _begin(self) -> None:
        give_up_at = self.clock.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except apsw.BusyError:
                if self.clock.monotonic() >= give_up_at:
                    raise
                await asyncio.sleep(0.005)
            else:
                return

    def _timed(self, work: Callable[[SqliteConnection], T]) -> Callable[[SqliteConnection], T]:
        def timed(connection: SqliteConnection) -> T:
            self._shift = store_time.follow_wall_clock(connection, self.clock)
            return work(connection)

        return timed

    def _finish(self, work: Callable[[SqliteConnection], T]) -> T:
        try:
            self._seen.hosts.begin()
            result = work(self._seen)
            self.gates.commit()
            self._connection.execute("COMMIT")
            self._seen.hosts.commit()
            if self._run_ids is not None:
                self._run_ids.commit()
        except BaseException:
            self._roll_back()
            raise
        return result

    def _roll_back(self) -> None:
        self.gates.roll_back()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        if self._run_ids is not None:
            self._run_ids.release()

    def _on_commit(self, connection: apsw.Connection, _name: str, pages: int) -> int:
        """Checkpoint in a thread, since it syncs the disk and must not block the loop."""
        if pages >= CHECKPOINT_PAGES and (self._checkpointer is None or not self._checkpointer.is_alive()):
            path = Path(connection.filename)
            self._checkpointer = threading.Thread(target=_checkpoint, args=(path,), name="checkpoint")
            self._checkpointer.start()
        return apsw.SQLITE_OK

    def compact(self) -> None:
        """Rewrite the file without its free pages."""
        with translated(self.folder):
            self._connection.execute("VACUUM")
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        """Close the file."""
        if self._checkpointer is not None:
            self._checkpointer.join()
        self.gates.close()
        self._connection.close()


def connect(path: Path) -> apsw.Connection:
    """Return a connection with the settings that all connections to a data folder need."""
    with translated(path.parent):
        connection = apsw.Connection(str(path), statementcachesize=STATEMENTS)
        # Without this, SQLite compiles a statement again whenever other values are bound to it.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.set_busy_timeout(SETUP_WAIT_MS)
        _use_write_ahead_log(connection)
        for pragma in (
            "synchronous = NORMAL",
            "cache_size = -65536",
            "temp_store = MEMORY",
            "wal_autocheckpoint = 0",
        ):
            connection.execute(f"PRAGMA {pragma}")
        connection.set_busy_timeout(BUSY_WAIT_MS)
        return connection


def _use_write_ahead_log(connection: apsw.Connection) -> None:
    """Switch the file to a write-ahead log, also if other processes do so at the same moment: SQLite then
    refuses all but one without waiting, as each holds a lock that the others wait for.
    """
    give_up_at = time.monotonic() + SETUP_WAIT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() >= give_up_at:
                raise
            time.sleep(BUSY_WAIT_MS / 1000)
        else:
            return


def _checkpoint(path: Path) -> None:
    """Move the write-ahead log into the file: most of it without a lock, the rest so
    that the log restarts.
    """
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.CantOpenError:
        return  # the file was removed, which the next transaction reports
    try:
        connection.pragma("schema_version")  # a connection that never read does not know that there is a log
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        connection.set_busy_timeout(SETUP_WAIT_MS)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    except (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError):
        pass  # another process does it, or the next commit meets the same error and reports it
    finally:
        connection.close()


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Translate errors of SQLite, with a hint."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreUnavailable(
            f"the data folder {folder} is locked by another program",
            hint="stop the program that holds the lock, or use another --data folder",
        ) from error
    except apsw.FullError as error:
        raise StoreFull(
            f"the disk of the data folder {folder} is full; no saved data is lost",
            hint="free some space and run the same command again",
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreUnavailable(
            f"the data folder {folder} is damaged: {error}",
            hint="run `smartspider fsck --data DIR`, restore a copy, or use another --data folder",
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.IOError) as error:
        raise StoreUnavailable(
            f"the data folder {folder} cannot be used: {error}",
            hint="check that it exists, is writable and is on a local disk",
        ) from error
