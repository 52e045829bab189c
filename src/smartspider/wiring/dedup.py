"""Open the URL filters of an installation by its settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.extras import require_extra
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.dedup.deduplicator import DedupRun
from smartspider.dedup.ledger import DedupLedger
from smartspider.dedup.memory import RecentSet, WorkerMemory
from smartspider.dedup.url_filter import FilterKey, FilterMode, FilterStack, StoredUrls
from smartspider.engine.link_filter import LinkFilter
from smartspider.installation.installation import Installation
from smartspider.interfaces.event_bus import EventBus


class FilterLocation(msgspec.Struct, frozen=True):
    """The location of URL filters: the Redis of a cluster, or a data folder."""

    path: Path
    """The data folder; not used on a cluster."""
    frontier_url: str = ""
    mode: FilterMode = "off"
    max_bytes: int = 256_000_000
    """Budget of each kind of filter."""
    rows: StoredUrls | None = None
    """The stored URLs and the epoch of the store."""

    @property
    def is_shared(self) -> bool:
        """True if workers of several machines share the filters."""
        return self.frontier_url.startswith("redis")


@asynccontextmanager
async def open_filters(location: FilterLocation) -> AsyncIterator[FilterStack]:
    """Open the filters of a location; connections and files are opened on first use."""
    if location.is_shared:
        require_extra("a shared URL filter", "cluster")
        from smartspider.backends.redis.address import read_url
        from smartspider.backends.redis.dedup.opening import open_filters as open_shared

        address = read_url(location.frontier_url)
        async with open_shared(address, location.mode, max_bytes=location.max_bytes) as filters:
            yield filters
        return
    from smartspider.backends.sqlite.dedup import FolderBloomFilter

    lossy = FolderBloomFilter(location.path, max_bytes=location.max_bytes, rows=location.rows)
    try:
        yield FilterStack(lossy=lossy)
    finally:
        lossy.close()


class ProcessDedup:
    """Deduplication in one process: worker memory and, with a ledger, shared filters."""

    def __init__(self, ledger: DedupLedger | None = None, *, shares_all: bool = False) -> None:
        self.ledger = ledger
        self._shares_all = shares_all
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
        """Deduplicate the URLs of a run with filters, if there is one for its task."""
        if self.ledger is None or not (self._shares_all or plan.urls == "bloom"):
            return nullcontext()
        return self.ledger.deduplicating(run.id, DedupRun(plan, run.task_id, links))


def filter_location(installation: Installation, mode: FilterMode | None = None) -> FilterLocation:
    """Return the location of the filters of an installation; `mode` overrides the settings."""
    settings = installation.settings
    max_bytes = settings.dedup_memory
    if not installation.is_cluster:
        return FilterLocation(installation.path, max_bytes=max_bytes, rows=installation.stored_urls)
    chosen = mode or settings.dedup
    return FilterLocation(
        installation.path, settings.frontier_url, chosen, max_bytes, installation.stored_urls
    )


@asynccontextmanager
async def open_dedup(installation: Installation, bus: EventBus) -> AsyncIterator[ProcessDedup]:
    """Open deduplication with all filters of an installation."""
    async with open_filters(filter_location(installation)) as filters:
        # Needed even without a filter: worker memory must not outlive the history of a database.
        yield ProcessDedup(_ledger(installation, filters, bus), shares_all=installation.is_cluster)


def _ledger(installation: Installation, filters: FilterStack, bus: EventBus) -> DedupLedger:
    if not installation.is_cluster:
        return DedupLedger(installation.ledger, filters, installation.clock, bus)
    return DedupLedger(
        installation.ledger, filters, installation.clock, bus, epoch=installation.stored_urls.epoch
    )


@asynccontextmanager
async def open_run_dedup(
    plan: Plan, installation: Installation, bus: EventBus
) -> AsyncIterator[ProcessDedup]:
    """Open deduplication for one run in a data folder: without filters, unless its task names one."""
    if plan.urls != "bloom":
        yield ProcessDedup()
        return
    async with open_dedup(installation, bus) as dedup:
        yield dedup


async def drop_run_filter(installation: Installation, run_id: int) -> None:
    """Delete the filter of a finished run in a data folder; on a cluster the keeper does it. A file that
    cannot be deleted only wastes space.
    """
    if installation.is_cluster:
        return
    async with open_filters(FilterLocation(installation.path)) as filters:
        if filters.lossy is not None:
            with suppress(StoreUnavailable):
                await filters.lossy.drop(FilterKey("run", run_id))
