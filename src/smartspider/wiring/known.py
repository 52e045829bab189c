"""What workers of a process know of URLs that are stored already, and whom they ask about others."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress

from smartspider.core.errors import StoreUnavailable
from smartspider.core.plan import Plan
from smartspider.core.runs import Run
from smartspider.engine.known import LocalSeen, RecentSet
from smartspider.engine.links import LinkFilter
from smartspider.engine.seen import SeenLedger
from smartspider.engine.sieve import SiftedRun
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.seen import Layers, SeenKey
from smartspider.wiring.premises import Premises
from smartspider.wiring.seen import Mode, SeenPlace, memory_of, mode_of, open_layers
from smartspider.wiring.settings import Settings


class KnownUrls:
    """What is known of runs; without a ledger in front of the store, only what this process has stored."""

    def __init__(self, ledger: SeenLedger | None = None, *, shares_all: bool = False) -> None:
        self.ledger = ledger
        self._shares_all = shares_all
        self._local = LocalSeen()
        self._open: Counter[int] = Counter()

    @contextmanager
    def of(self, run_id: int) -> Iterator[RecentSet[bytes]]:
        """What this process knows of a run, forgotten when the last job of the run is closed."""
        self._open[run_id] += 1
        try:
            yield self._local.of(run_id)
        finally:
            self._open[run_id] -= 1
            self._open += Counter()  # those without a job are left out
            self._local.keep(self._open)

    def sifting(self, run: Run, plan: Plan, links: LinkFilter) -> AbstractContextManager[None]:
        """Have the pages of a run sifted, where there is a layer for it."""
        if self.ledger is None or not (self._shares_all or plan.urls == "bloom"):
            return nullcontext()
        return self.ledger.sifting(run.id, SiftedRun(plan, run.task_id, links))


def seen_place(premises: Premises, settings: Settings, mode: Mode | None = None) -> SeenPlace:
    """Where the layers of an installation are; `mode` is that of the settings, unless another is given."""
    max_bytes = memory_of(settings.dedup_memory)
    if not premises.is_cluster:
        return SeenPlace(premises.path, max_bytes=max_bytes, rows=premises.seen_rows)
    chosen = mode or mode_of(settings.dedup)
    return SeenPlace(premises.path, settings.frontier_url, chosen, max_bytes, premises.seen_rows)


@asynccontextmanager
async def open_known(premises: Premises, settings: Settings, bus: EventBus) -> AsyncIterator[KnownUrls]:
    """With all layers of an installation; nothing is sent and no file is made before one is used."""
    place = seen_place(premises, settings)
    async with open_layers(place) as layers:
        # Also without a layer: of the memory of a worker nothing may outlast the history of a database.
        yield KnownUrls(_ledger(premises, layers, bus), shares_all=premises.is_cluster)


def _ledger(premises: Premises, layers: Layers, bus: EventBus) -> SeenLedger:
    if not premises.is_cluster:
        return SeenLedger(premises.ledger, layers, premises.clock, bus)
    return SeenLedger(premises.ledger, layers, premises.clock, bus, epoch=premises.seen_rows.epoch)


@asynccontextmanager
async def known_for(
    plan: Plan, premises: Premises, settings: Settings, bus: EventBus
) -> AsyncIterator[KnownUrls]:
    """The same for one run in a data folder: without layers, unless its task names one."""
    if plan.urls != "bloom":
        yield KnownUrls()
        return
    async with open_known(premises, settings, bus) as known:
        yield known


async def forget_known(premises: Premises, run_id: int) -> None:
    """Free what a data folder knows of a run that is over; on a cluster the keeper does. A file that must
    stay takes some space and means nothing.
    """
    if premises.is_cluster:
        return
    async with open_layers(SeenPlace(premises.path)) as layers:
        if layers.lossy is not None:
            with suppress(StoreUnavailable):
                await layers.lossy.drop(SeenKey("run", run_id))
