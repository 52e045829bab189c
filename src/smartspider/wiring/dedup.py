"""Deduplication of URLs in a worker process, by the settings of its installation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import msgspec

from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.dedup.deduplicator import DedupRun
from smartspider.dedup.ledger import DedupLedger
from smartspider.dedup.memory import RecentSet, WorkerMemory
from smartspider.engine.link_filter import LinkFilter
from smartspider.installation.installation import Installation
from smartspider.interfaces.event_bus import EventBus


class ProcessDedup:
    """Deduplication in one process: worker memory and, with a ledger, shared filters."""

    def __init__(self, ledger: DedupLedger | None = None) -> None:
        self.ledger = ledger
        self._local = WorkerMemory()
        self._open: Counter[int] = Counter()

    @contextmanager
    def run_memory(self, run_id: int) -> Iterator[RecentSet[bytes]]:
        """Yield the memory of a run, which is freed when the last job of the run closes."""
        self._open[run_id] += 1
        try:
            yield self._local.for_run(run_id)
        finally:
            self._open[run_id] -= 1
            self._open += Counter()  # removes zero counts
            self._local.retain(self._open)

    def deduplicating(self, run: Run, plan: Plan, links: LinkFilter) -> AbstractContextManager[None]:
        """Deduplicate the URLs of a run with filters, if there are any."""
        if self.ledger is None:
            return nullcontext()
        return self.ledger.deduplicating(run.id, DedupRun(plan, run.task_id, links))


def process_dedup(installation: Installation, bus: EventBus) -> ProcessDedup:
    """Return the deduplication of a worker, with the filters of its installation. In a data folder the unique
    key answers without a round trip.
    """
    if not installation.is_cluster:
        return ProcessDedup()
    filters = installation.filters
    if installation.settings.dedup == "off":
        filters = msgspec.structs.replace(filters, exact=None)
    epoch = installation.stored_urls.epoch
    # Needed even without a filter: worker memory must not outlive the history of a database.
    return ProcessDedup(DedupLedger(installation.ledger, filters, installation.clock, bus, epoch=epoch))
