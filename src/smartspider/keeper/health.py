"""Check the health and the disk space of the installation; log and notify about changes."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.errors import StoreFull, StoreUnavailable
from smartspider.core.notifications import NotificationEvent
from smartspider.core.workers.worker import describe_silent
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.interfaces.store_clock import StoreClock
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.keeper.messages import MemoryOutbox
from smartspider.store.runs.store import RunStore

log = logging.getLogger("smartspider.keeper")

LOW_BYTES = 1_000_000_000
LOW_SHARE = 0.02
LARGEST_WAL = 512_000_000


class CheckHealth:
    """Checks disk space, the size of the write-ahead log, silent workers, and the clock."""

    name, every_s = "health", 15.0

    def __init__(
        self,
        folder: Path,
        workers: WorkerRegistry,
        store_clock: StoreClock,
        store_now: Callable[[], float],
    ) -> None:
        self._folder = folder
        self._workers = workers
        self._store_clock = store_clock
        self._store_now = store_now
        self.findings: dict[str, str] = {}

    async def do(self, term: Term) -> None:  # noqa: ARG002 - read-only
        """Log new and resolved problems."""
        found = dict(self._of_disk())
        if problem := (await self._store_clock.status()).problem:
            found["clock"] = f"{problem}; `smartspider node clock --confirm` believes it now"
        for worker in await self._workers.find():
            if worker.is_silent(self._store_now()):
                found[f"worker {worker.id}"] = describe_silent([worker], self._store_now())
        for name, message in found.items():
            if name not in self.findings:
                log.warning("health: %s", message)
        for name in self.findings.keys() - found.keys():
            log.info("health: %s is healthy again", name)
        self.findings = found

    def _of_disk(self) -> Iterator[tuple[str, str]]:
        usage = shutil.disk_usage(self._folder)
        if usage.free < min(LOW_BYTES, usage.total * LOW_SHARE):
            yield "disk", f"only {usage.free / 1e6:.0f} MB free on the disk of {self._folder}"
        wal = sum(file.stat().st_size for file in self._folder.glob("*.db-wal"))
        if wal > LARGEST_WAL:
            yield "wal", f"the write-ahead log has {wal / 1e6:.0f} MB: a reader is open for long"


class FollowClock:
    """Decides whether store time follows the wall clock of the store."""

    name, every_s = "clock", 3.0

    def __init__(self, store_clock: StoreClock) -> None:
        self._store_clock = store_clock

    async def do(self, term: Term) -> None:
        """Compare both."""
        await self._store_clock.follow(term.epoch)


class EndStoppedClients:
    """Ends sessions of the store whose client stopped while it sent statements: others wait for its locks."""

    name, every_s = "sessions", 2.0

    def __init__(self, end: Callable[[], Awaitable[int]]) -> None:
        self._end = end

    async def do(self, term: Term) -> None:  # noqa: ARG002 - idempotent
        """End them; the processes repeat their transactions when they move again."""
        if ended := await self._end():
            log.warning("sessions: ended %d sessions of processes that stopped in a transaction", ended)


CHECK_S = 2.0
IDLE_S = 10.0


class StoreOutage(msgspec.Struct, frozen=True):
    """The part of a notification about the store."""

    reason: str
    since: str
    away_s: float
    runs: list[str]
    """Live runs, which make no progress meanwhile."""


class StoreNotification(msgspec.Struct, frozen=True):
    """A notification without its id; `run` is empty, for readers that expect the key."""

    event: NotificationEvent
    at: str
    store: StoreOutage
    run: dict[str, str] = {}


class WatchDiskSpace:
    """Detects that the disk of the store is full, and that it has space again. Writes nothing.

    A new leader notifies again, so a notification may be sent twice.
    """

    name = "store"

    def __init__(
        self,
        check_room: Callable[[], Awaitable[None]],
        store: RunStore,
        outbox: MemoryOutbox,
        clock: Clock,
    ) -> None:
        self._check_room = check_room
        self._store = store
        self._outbox = outbox
        self._clock = clock
        self._since: float | None = None
        self._is_idle = False

    @property
    def every_s(self) -> float:
        """Longer while no run is live: the check causes disk activity."""
        return IDLE_S if self._is_idle else CHECK_S

    async def do(self, term: Term) -> None:
        """Check, notify about a change, and deliver due messages."""
        try:
            await self._check_room()
        except StoreFull as error:
            if self._since is None:
                self._since = self._clock.now()
                log.error(  # noqa: TRY400 - the traceback has no value
                    "store.full: %s; no request is leased until space is freed", error.message
                )
                await self._notify("store.full", error.message, term)
        except StoreUnavailable:
            pass  # an unavailable store is reported by its users
        else:
            if self._since is not None:
                log.info("store.returned: the store accepts writes again")
                await self._notify("store.returned", "the store accepts writes again", term)
                self._since = None
        await self._outbox.deliver()
        self._is_idle = self._since is None and self._outbox.is_empty and not await self._has_runs()

    async def _has_runs(self) -> bool:
        try:
            return bool(await self._store.live_runs())
        except StoreUnavailable:
            return True

    async def _notify(self, event: NotificationEvent, reason: str, term: Term) -> None:
        now, since = self._clock.now(), self._since or self._clock.now()
        try:
            runs = [str(run.id) for run in await self._store.live_runs()]
        except StoreUnavailable as error:
            log.warning("notifications cannot be sent: %s", error.message)
            return
        outage = StoreOutage(reason, format_time(since), round(now - since, 1), runs)
        data = msgspec.json.encode(StoreNotification(event, format_time(now), outage))
        await self._outbox.put(event, f"{term.epoch}-{since:.0f}", data)
