"""Moving a data folder to a cluster, with all that is in it: in pieces, and from wherever it was broken off.

The folder is closed first. The store there is open to nobody until everything has arrived; then the folder is
marked for good, and only then the store is opened. So there is no moment at which both can be worked in.
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
from smartspider.wiring import move_checks
from smartspider.wiring.folder import open_folder
from smartspider.wiring.move_checks import Order

PATIENCE_S = 10.0
"""How long programs that are just ending are waited for."""
LOOK_S = 0.1


class Report(msgspec.Struct, frozen=True):
    """What a move did, or would do."""

    folder: str
    store: str
    frontier: str
    tables: dict[str, int]
    """Rows of each."""
    open: int
    """Requests of unfinished runs that are still to be made."""
    copied: int = 0
    """Rows that were brought there by this call; those of earlier tries were there."""
    seconds: float = 0.0
    store_url: str = ""
    frontier_url: str = ""
    """Both as settings, without user and password."""
    cleaned: list[str] = []
    """Tables with texts that PostgreSQL cannot keep as they are: zero bytes were replaced."""
    is_done: bool = False

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(self.tables.values())

    @property
    def rows_per_s(self) -> float:
        """How fast they were brought there."""
        return self.copied / self.seconds if self.seconds else 0.0


Tell = Callable[[str, int, int], None]
"""Hears the name of a table, its rows that are there, and all of them."""


async def foresee(order: Order) -> Report:
    """What `move` would do, when nothing stands against it. Nothing is changed."""
    prepare(order.folder)
    with FolderExport(order.folder) as source, closing(FolderImport(order.store_url)) as target:
        await move_checks.check(order, source, target)
        return _report(order, source, target)


async def move(order: Order, tell: Tell) -> Report:
    """Bring everything there; the same again after it was broken off goes on where it was."""
    prepare(order.folder)
    with FolderExport(order.folder) as source, closing(FolderImport(order.store_url)) as target:
        await move_checks.check(order, source, target)
        is_new = source.marker is None
    if is_new:
        await _tidy(order)
    with FolderExport(order.folder) as source, closing(FolderImport(order.store_url)) as target:
        return await _Move(order, source, target, tell).run()


async def stay(folder: Path, actor: str) -> str:
    """Give a move up that is not through: the folder is worked in again. Where it was going."""
    prepare(folder)
    with FolderExport(folder) as source:
        mark = source.marker
        if mark is None:
            raise NotAllowed(f"the data folder {folder} is not being moved")
        if mark.is_done:
            raise folder_moved(mark, folder)
        source.cancel_move(mark)
    with open_folder(folder, actor) as opened:
        await opened.audit.append(actor, "store.stayed", "store", {"store": mark.store})
    return mark.store


async def _tidy(order: Order) -> None:
    """What dead workers held goes back into the queue, by the rules of this store."""
    with open_folder(order.folder, order.actor) as folder:
        await folder.frontier.reclaim()
        place = PostgresAddress(order.store_url).place
        await folder.audit.append(order.actor, "store.moved", "store", {"store": place})


def _report(order: Order, source: FolderExport, target: FolderImport) -> Report:
    frontier = read_url(order.frontier_url)
    return Report(
        folder=str(order.folder),
        store=target.place,
        frontier=frontier.shown,
        store_url=PostgresAddress(order.store_url).url,
        frontier_url=frontier.url,
        tables=source.counts(),
        open=source.open_rows(),
    )


class _Move:
    """One try."""

    def __init__(self, order: Order, source: FolderExport, target: FolderImport, tell: Tell) -> None:
        self._order = order
        self._source = source
        self._target = target
        self._tell = tell
        self._clock = SystemClock()
        self._cleaned: list[str] = []
        self._copied = 0
        self._is_new = False

    async def run(self) -> Report:
        """All of it, or what is left of it."""
        began_at = self._clock.monotonic()
        await self._until(self._target.lock, "is being filled by another program")
        move_checks.check_store(self._order, self._source, self._target)
        report = _report(self._order, self._source, self._target)
        mark = self._mark(report)
        begun = self._begun() or self._begin(mark)
        if not begun.is_finished:
            await self._stand_alone()
            if not mark.is_done:
                await self._copy(begun, report)
                await self._verify(report)
                failpoints.reach("move.settled")
                self._close(mark)
            self._target.finish()
            failpoints.reach("move.finished")
        return msgspec.structs.replace(
            report,
            copied=self._copied,
            seconds=self._clock.monotonic() - began_at,
            cleaned=self._cleaned,
            is_done=True,
        )

    def _mark(self, report: Report) -> MoveMarker:
        """Nobody works in the folder from here on."""
        if self._source.marker is not None:
            return self._source.marker
        mark = MoveMarker(secrets.token_hex(16), report.store, report.frontier)
        self._source.set_marker(mark)
        return mark

    def _begun(self) -> ImportState | None:
        """This move, if the store knows of it; what one that was given up has brought there is taken out."""
        begun = self._target.state()
        if begun is None or not move_checks.is_given_up(self._source, begun):
            return begun
        self._target.empty([table.name for table in TABLES])
        return None

    def _begin(self, mark: MoveMarker) -> ImportState:
        """Nobody works in the store there either, and how far its clock is ahead of the folder's."""
        shift_s = self._target.now() - self._source.now(self._clock)
        begun = self._target.begin(mark.id, shift_s)
        self._is_new = True
        failpoints.reach("move.begun")
        return begun

    async def _stand_alone(self) -> None:
        """Who came before the store was closed may still be there; then nothing has happened yet."""
        try:
            await self._until(
                lambda: self._target.other_connections() == 0, "is used by other programs of a cluster"
            )
            if self._is_new:
                move_checks.refuse_full(self._target)
        except NotAllowed:
            if self._is_new:
                self._target.cancel()
                self._source.set_marker(None)
            raise

    async def _until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        give_up_at = self._clock.monotonic() + PATIENCE_S
        while not is_so():
            if self._clock.monotonic() >= give_up_at:
                raise NotAllowed(
                    f"the store at {self._target.place} {otherwise}",
                    hint="stop them and run the same command again",
                )
            await asyncio.sleep(LOOK_S)

    async def _copy(self, begun: ImportState, report: Report) -> None:
        for table in TABLES:
            total = report.tables[table.name]
            done = self._target.progress(table.name)
            self._tell(table.name, done.rows, total)
            rows, last = done.rows, done.last
            while piece := self._piece(table, last, begun.shift_s):
                added, last = piece
                rows += added
                self._copied += added
                self._tell(table.name, rows, total)
                failpoints.reach("move.piece")
                await asyncio.sleep(0)  # a signal is heard here

    def _piece(
        self, table: ExportedTable, after: tuple[object, ...] | None, shift_s: float
    ) -> tuple[int, tuple[object, ...]] | None:
        """Bring the next rows there: how many they were, and up to which key; None: that was all."""
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
        raise StoreUnavailable(f"a row of the table {table.name} cannot be kept by PostgreSQL")

    async def _verify(self, report: Report) -> None:
        """Everything is there, and the audit holds as it did."""
        standing = self._source.counters()
        self._target.set_counters(
            standing.numbers,
            (standing.audit_last, standing.audit_hash),
            standing.log_bytes,
            standing.last_notified,
        )
        there = self._target.count(list(report.tables))
        wrong = [name for name, rows in report.tables.items() if there[name] != rows]
        if wrong:
            name = wrong[0]
            raise StoreUnavailable(
                f"{name} has {report.tables[name]} rows here and {there[name]} there: somebody wrote there",
                hint="`smartspider move --cancel`, then move to an empty database",
            )
        with closing(PostgresDatabase(self._order.store_url, self._clock, size=1)) as database:
            sent, arrived = await self._source.verify_audit(), await AuditLog(database).verify()
        if sent != arrived:
            raise StoreUnavailable(
                "the audit that arrived is not the one that was sent",
                hint="`smartspider move --cancel`, then move to an empty database",
            )

    def _close(self, mark: MoveMarker) -> None:
        """The folder is left for good."""
        self._source.set_marker(msgspec.structs.replace(mark, is_done=True))
        failpoints.reach("move.closed")
