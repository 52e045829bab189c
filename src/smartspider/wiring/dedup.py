"""Open the URL filters of an installation by its settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext

from smartspider.core.extras import require_extra
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.dedup.deduplicator import DedupRun
from smartspider.dedup.ledger import DedupLedger
from smartspider.dedup.memory import RecentSet, WorkerMemory
from smartspider.dedup.url_filter import FilterStack
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


@asynccontextmanager
async def open_filters(installation: Installation) -> AsyncIterator[FilterStack]:
    """Open all filters of an installation, whatever its settings say: they may exist from earlier settings. A
    data folder has none.
    """
    if not installation.is_cluster:
        yield FilterStack()
        return
    require_extra("a shared URL filter", "cluster")
    from smartspider.backends.redis.address import read_url
    from smartspider.backends.redis.dedup.opening import open_filters as open_shared

    settings = installation.settings
    address = read_url(settings.frontier_url)
    async with open_shared(address, "exact", max_bytes=settings.dedup_memory) as filters:
        yield filters


def process_dedup(installation: Installation, bus: EventBus) -> ProcessDedup:
    """Return the deduplication of a worker, with the filters of its installation. In a data folder the unique
    key answers without a round trip.
    """
    if not installation.is_cluster:
        return ProcessDedup()
    # Needed even without a filter: worker memory must not outlive the history of a database.
    return ProcessDedup(
        DedupLedger(
            installation.ledger,
            installation.filters,
            installation.clock,
            bus,
            epoch=installation.stored_urls.epoch,
        )
    )
