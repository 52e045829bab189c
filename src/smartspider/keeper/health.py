"""Check the health of the installation and log changes."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.interfaces.worker_registry import WorkerRegistry

log = logging.getLogger("smartspider.keeper")

LOW_BYTES = 1_000_000_000
LOW_SHARE = 0.02
LARGEST_WAL = 512_000_000
SILENT_S = 60.0
CLOCK_S = 5.0


class CheckHealth:
    """Checks disk space, the size of the write-ahead log, silent workers, and the clock."""

    name, every_s = "health", 15.0

    def __init__(
        self, folder: Path, workers: WorkerRegistry, clock: Clock, store_now: Callable[[], float]
    ) -> None:
        self._folder = folder
        self._workers = workers
        self._clock = clock
        self._store_now = store_now
        self.findings: dict[str, str] = {}

    async def do(self, term: Term) -> None:  # noqa: ARG002 - read-only
        """Log new and resolved problems."""
        found = {**dict(self._of_disk()), **dict(self._of_clock())}
        for worker in await self._workers.find():
            silent_s = self._store_now() - worker.seen_at
            if worker.is_alive and silent_s > SILENT_S:
                found[f"worker {worker.id}"] = f"{worker.name} has been silent for {silent_s:.0f} s"
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

    def _of_clock(self) -> Iterator[tuple[str, str]]:
        ahead_s = self._store_now() - self._clock.now()
        if abs(ahead_s) > CLOCK_S:
            yield "clock", f"the clock of this machine is {ahead_s:.0f} s behind the store's: it was set back"
