"""The layers in front of an installation's store, opened by its settings."""

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
from smartspider.installation.settings import Settings
from smartspider.interfaces.event_bus import EventBus


class FilterLocation(msgspec.Struct, frozen=True):
    """Where layers are: in the Redis of a cluster, or in a data folder."""

    path: Path
    """The data folder; on a cluster it is not used."""
    frontier_url: str = ""
    mode: FilterMode = "off"
    max_bytes: int = 256_000_000
    """For each kind of layer."""
    rows: StoredUrls | None = None
    """What the store says, and what epoch it is in."""

    @property
    def is_shared(self) -> bool:
        """Whether workers of several machines share them."""
        return self.frontier_url.startswith("redis")


@asynccontextmanager
async def open_filters(place: FilterLocation) -> AsyncIterator[FilterStack]:
    """The layers of a place, closed at the end; nothing is sent and no file is made before one is used."""
    if place.is_shared:
        require_extra("a shared URL filter", "cluster")
        from smartspider.backends.redis.address import read_url
        from smartspider.backends.redis.dedup.opening import open_filters as open_shared

        address = read_url(place.frontier_url)
        async with open_shared(address, place.mode, max_bytes=place.max_bytes) as layers:
            yield layers
        return
    from smartspider.backends.sqlite.dedup import FolderBloomFilter

    lossy = FolderBloomFilter(place.path, max_bytes=place.max_bytes, rows=place.rows)
    try:
        yield FilterStack(lossy=lossy)
    finally:
        lossy.close()


class ProcessDedup:
    """What is known of runs; without a ledger in front of the store, only what this process has stored."""

    def __init__(self, ledger: DedupLedger | None = None, *, shares_all: bool = False) -> None:
        self.ledger = ledger
        self._shares_all = shares_all
        self._local = WorkerMemory()
        self._open: Counter[int] = Counter()

    @contextmanager
    def run_memory(self, run_id: int) -> Iterator[RecentSet[bytes]]:
        """What this process knows of a run, forgotten when the last job of the run is closed."""
        self._open[run_id] += 1
        try:
            yield self._local.for_run(run_id)
        finally:
            self._open[run_id] -= 1
            self._open += Counter()  # those without a job are left out
            self._local.retain(self._open)

    def deduplicating(self, run: Run, plan: Plan, links: LinkFilter) -> AbstractContextManager[None]:
        """Have the pages of a run sifted, where there is a layer for it."""
        if self.ledger is None or not (self._shares_all or plan.urls == "bloom"):
            return nullcontext()
        return self.ledger.deduplicating(run.id, DedupRun(plan, run.task_id, links))


def filter_location(
    installation: Installation, settings: Settings, mode: FilterMode | None = None
) -> FilterLocation:
    """Where the layers of an installation are; `mode` is that of the settings, unless another is given."""
    max_bytes = settings.dedup_memory
    if not installation.is_cluster:
        return FilterLocation(installation.path, max_bytes=max_bytes, rows=installation.stored_urls)
    chosen = mode or settings.dedup
    return FilterLocation(
        installation.path, settings.frontier_url, chosen, max_bytes, installation.stored_urls
    )


@asynccontextmanager
async def open_dedup(
    installation: Installation, settings: Settings, bus: EventBus
) -> AsyncIterator[ProcessDedup]:
    """With all layers of an installation; nothing is sent and no file is made before one is used."""
    place = filter_location(installation, settings)
    async with open_filters(place) as layers:
        # Also without a layer: of the memory of a worker nothing may outlast the history of a database.
        yield ProcessDedup(_ledger(installation, layers, bus), shares_all=installation.is_cluster)


def _ledger(installation: Installation, layers: FilterStack, bus: EventBus) -> DedupLedger:
    if not installation.is_cluster:
        return DedupLedger(installation.ledger, layers, installation.clock, bus)
    return DedupLedger(
        installation.ledger, layers, installation.clock, bus, epoch=installation.stored_urls.epoch
    )


@asynccontextmanager
async def open_run_dedup(
    plan: Plan, installation: Installation, settings: Settings, bus: EventBus
) -> AsyncIterator[ProcessDedup]:
    """The same for one run in a data folder: without layers, unless its task names one."""
    if plan.urls != "bloom":
        yield ProcessDedup()
        return
    async with open_dedup(installation, settings, bus) as known:
        yield known


async def drop_run_filter(installation: Installation, run_id: int) -> None:
    """Free what a data folder knows of a run that is over; on a cluster the keeper does. A file that must
    stay takes some space and means nothing.
    """
    if installation.is_cluster:
        return
    async with open_filters(FilterLocation(installation.path)) as layers:
        if layers.lossy is not None:
            with suppress(StoreUnavailable):
                await layers.lossy.drop(FilterKey("run", run_id))
