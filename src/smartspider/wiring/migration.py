"""Migrate a data folder with all its contents to a cluster, in batches; an interrupted migration continues.

The folder is closed first. The target store stays closed until all rows have arrived; then the folder is
marked as moved, and only then the store is opened. So at no moment can both be used.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from smartspider.backends.postgres.address import PostgresAddress
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.folder_import import FolderImport, ImportState
from smartspider.backends.redis.address import read_url
from smartspider.backends.sqlite.folder_export import TABLES, ExportedTable, FolderExport
from smartspider.backends.sqlite.move_marker import MoveMarker, folder_moved
from smartspider.backends.sqlite.schema import prepare
from smartspider.core import failpoints
from smartspider.core.errors import NotAllowed, StoreUnavailable
from smartspider.engine.runtime import SystemClock
from smartspider.store.audit import AuditLog
from smartspider.wiring import migration_checks
from smartspider.wiring.migration_checks import MigrationRequest
from smartspider.wiring.opening import open_folder

WAIT_S = 10.0
"""Time to wait for other programs that are ending."""
POLL_S = 0.1


class MigrationReport(msgspec.Struct, frozen=True):
    """The result of a migration, or of a dry run."""

    folder: str
    store: str
    frontier: str
    tables: dict[str, int]
    """Rows by table."""
    open: int
    """Open requests of unfinished runs."""
    copied: int = 0
    """Rows copied by this call, without those of earlier attempts."""
    seconds: float = 0.0
    store_url: str = ""
    frontier_url: str = ""
    """Both URLs as settings, without user and password."""
    cleaned: list[str] = []
    """Tables in which zero bytes were replaced, because PostgreSQL cannot store them in text."""
    is_done: bool = False

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(self.tables.values())

    @property
    def rows_per_s(self) -> float:
        """Rows copied per second."""
        return self.copied / self.seconds if self.seconds else 0.0


OnProgress = Callable[[str, int, int], None]
"""Called with the name of a table, the rows copied, and all its rows."""


async def plan_migration(request: MigrationRequest) -> MigrationReport:
    """Check a migration and return what it would do; change nothing."""
    prepare(request.folder)
    with closing(FolderExport(request.folder)) as source, closing(FolderImport(request.store_url)) as target:
        await migration_checks.check_migration(request, source, target)
        return _report(request, source, target)


async def migrate(
    request: MigrationRequest, on_progress: OnProgress, *, wait_s: float = WAIT_S
) -> MigrationReport:
    """Migrate a folder, or continue an interrupted migration."""
    prepare(request.folder)
    with closing(FolderExport(request.folder)) as source, closing(FolderImport(request.store_url)) as target:
        await migration_checks.check_migration(request, source, target)
        is_new = source.marker is None
    if is_new:
        await _prepare_folder(request)
    with closing(FolderExport(request.folder)) as source, closing(FolderImport(request.store_url)) as target:
        return await _Migration(request, source, target, on_progress, wait_s).run()


async def cancel_migration(folder: Path, actor: str) -> str:
    """Cancel an unfinished migration, which reopens the folder; return the target store."""
    prepare(folder)
    with closing(FolderExport(folder)) as source:
        marker = source.marker
        if marker is None:
            raise NotAllowed(f"the data folder {folder} is not being moved")
        if marker.is_done:
            raise folder_moved(marker, folder)
        source.cancel_move(marker)
    with open_folder(folder, actor) as opened:
        await opened.audit.append(actor, "store.stayed", "store", {"store": marker.store})
    return marker.store


async def _prepare_folder(request: MigrationRequest) -> None:
    """Reclaim the leases of dead workers and record the migration in the audit."""
    with open_folder(request.folder, request.actor) as folder:
        await folder.frontier.reclaim()
        place = PostgresAddress(request.store_url).place
        await folder.audit.append(request.actor, "store.moved", "store", {"store": place})


def _report(request: MigrationRequest, source: FolderExport, target: FolderImport) -> MigrationReport:
    frontier = read_url(request.frontier_url)
    return MigrationReport(
        folder=str(request.folder),
        store=target.place,
        frontier=frontier.shown,
        store_url=PostgresAddress(request.store_url).url,
        frontier_url=frontier.url,
        tables=source.counts(),
        open=source.open_rows(),
    )


class _Migration:
    """One attempt."""

    def __init__(
        self,
        request: MigrationRequest,
        source: FolderExport,
        target: FolderImport,
        on_progress: OnProgress,
        wait_s: float,
    ) -> None:
        self._request = request
        self._source = source
        self._target = target
        self._on_progress = on_progress
        self._wait_s = wait_s
        self._clock = SystemClock()
        self._cleaned: list[str] = []
        self._copied = 0
        self._is_new = False

    async def run(self) -> MigrationReport:
        """Run the migration, or the rest of it."""
        began_at = self._clock.monotonic()
        await self._wait_until(self._target.lock, "is being filled by another program")
        migration_checks.check_store(self._request, self._source, self._target)
        report = _report(self._request, self._source, self._target)
        marker = self._ensure_marker(report)
        begun = self._find_state() or self._begin(marker)
        if not begun.is_finished:
            await self._wait_for_others()
            if not marker.is_done:
                await self._copy(begun, report)
                await self._verify(report)
                failpoints.reach("move.settled")
                self._close(marker)
            self._target.finish()
            failpoints.reach("move.finished")
        return msgspec.structs.replace(
            report,
            copied=self._copied,
            seconds=self._clock.monotonic() - began_at,
            cleaned=self._cleaned,
            is_done=True,
        )

    def _ensure_marker(self, report: MigrationReport) -> MoveMarker:
        """Close the folder, if it is not closed yet."""
        if self._source.marker is not None:
            return self._source.marker
        marker = MoveMarker(secrets.token_hex(16), report.store, report.frontier)
        self._source.set_marker(marker)
        return marker

    def _find_state(self) -> ImportState | None:
        """Return the state of this migration in the target; delete the rows of a cancelled one."""
        begun = self._target.state()
        if begun is None or not migration_checks.is_abandoned(self._source, begun):
            return begun
        self._target.empty([table.name for table in TABLES])
        return None

    def _begin(self, marker: MoveMarker) -> ImportState:
        """Close the target store, and record how far its clock is ahead of the folder's."""
        shift_s = self._target.now() - self._source.now(self._clock)
        begun = self._target.begin(marker.id, shift_s)
        self._is_new = True
        failpoints.reach("move.begun")
        return begun

    async def _wait_for_others(self) -> None:
        """Wait until no other program is connected to the target; undo the start if one stays."""
        try:
            await self._wait_until(
                lambda: self._target.other_connections() == 0, "is used by other programs of a cluster"
            )
            if self._is_new:
                migration_checks.require_empty(self._target)
        except NotAllowed:
            if self._is_new:
                self._target.cancel()
                self._source.set_marker(None)
            raise

    async def _wait_until(self, condition: Callable[[], bool], otherwise: str) -> None:
        give_up_at = self._clock.monotonic() + self._wait_s
        while not condition():
            if self._clock.monotonic() >= give_up_at:
                raise NotAllowed(
                    f"the store at {self._target.place} {otherwise}",
                    hint="stop the other programs and run the same command again",
                )
            await asyncio.sleep(POLL_S)

    async def _copy(self, begun: ImportState, report: MigrationReport) -> None:
        for table in TABLES:
            total = report.tables[table.name]
            done = self._target.progress(table.name)
            self._on_progress(table.name, done.rows, total)
            rows, last = done.rows, done.last
            while batch := self._copy_batch(table, last, begun.shift_s):
                added, last = batch
                rows += added
                self._copied += added
                self._on_progress(table.name, rows, total)
                failpoints.reach("move.piece")
                await asyncio.sleep(0)  # lets signal handlers run

    def _copy_batch(
        self, table: ExportedTable, after: tuple[object, ...] | None, shift_s: float
    ) -> tuple[int, tuple[object, ...]] | None:
        """Copy the next rows; return their number and the last key, or None after the last row."""
        columns = self._source.columns(table)
        for is_careful in (False, True):
            try:
                batch = self._source.batch(table, after, shift_s=shift_s, is_careful=is_careful)
            except UnicodeDecodeError:
                continue
            if batch.last is None:
                return None
            if self._target.copy(table.name, columns, batch.rows, batch.last):
                if is_careful and table.name not in self._cleaned:
                    self._cleaned.append(table.name)
                return len(batch.rows), batch.last
        raise StoreUnavailable(f"PostgreSQL cannot store a row of the table {table.name}")

    async def _verify(self, report: MigrationReport) -> None:
        """Check that all rows arrived and that the audit chain is intact."""
        counters = self._source.counters()
        self._target.set_counters(
            counters.numbers,
            (counters.audit_last, counters.audit_hash),
            counters.log_bytes,
            counters.last_notified,
        )
        there = self._target.count(list(report.tables))
        wrong = [name for name, rows in report.tables.items() if there[name] != rows]
        if wrong:
            name = wrong[0]
            raise StoreUnavailable(
                f"{name} has {report.tables[name]} rows in the folder and {there[name]} in the store:"
                " another program wrote to it",
                hint="`smartspider move --cancel`, then move to an empty database",
            )
        with closing(PostgresDatabase(self._request.store_url, self._clock, size=1)) as database:
            sent, arrived = await self._source.verify_audit(), await AuditLog(database).verify()
        if sent != arrived:
            raise StoreUnavailable(
                "the audit in the store differs from that of the folder",
                hint="`smartspider move --cancel`, then move to an empty database",
            )

    def _close(self, marker: MoveMarker) -> None:
        """Mark the folder as moved."""
        self._source.set_marker(msgspec.structs.replace(marker, is_done=True))
        failpoints.reach("move.closed")
