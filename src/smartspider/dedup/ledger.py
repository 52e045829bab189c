"""A ledger behind layers: what is known before the store is asked, this worker's memory and what all share.

The store's unique key stays the judge. A layer is only told of rows after their commit, and whatever it has
lost, or cannot answer in time, the store answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from smartspider.core.events import UrlFilterCounted
from smartspider.core.frontier.verdict import Close, RetryLater, Settlement
from smartspider.dedup.deduplicator import Deduplicator, DedupRun, FilterCounts
from smartspider.dedup.url_filter import FilterKey, FilterStack
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.ledger import Ledger, SettleReport

TELL_S = 10.0
DOUBTFUL_GROUPS = 2
"""Groups that may hold pages read before another epoch was noticed: the one at hand and the one after it."""
AGAIN = "the store changed while the page was read"
NOTHING = msgspec.structs.astuple(FilterCounts())


async def _only_one() -> str:
    return ""


class DedupLedger:
    """A ledger that is spared children which are known, see `interfaces/ledger.py`.

    Only runs that somebody asked for are sifted. `epoch` asks the store which epoch it is in, see `FilterKey`.
    """

    def __init__(
        self,
        ledger: Ledger,
        layers: FilterStack,
        clock: Clock,
        bus: EventBus,
        *,
        epoch: Callable[[], Awaitable[str]] = _only_one,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._deduplicator = Deduplicator(layers, clock, bus)
        self._ask_epoch = epoch
        self._epoch: str | None = None
        self._doubtful = 0
        self._tell_at = 0.0
        self._bus = bus
        self._told: dict[str, tuple[int, ...]] = {}
        self._runs: dict[int, DedupRun] = {}

    @property
    def counts(self) -> dict[str, FilterCounts]:
        """What each layer did so far, in this process."""
        return self._deduplicator.counts

    @contextmanager
    def deduplicating(self, run_id: int, run: DedupRun) -> Iterator[None]:
        """Sift the pages of a run; whoever begins last with a run says how, until he ends."""
        self._runs[run_id] = run
        try:
            yield
        finally:
            self._tell()
            if self._runs.get(run_id) is run:
                del self._runs[run_id]
                self._deduplicator.forget(run_id)

    def _tell(self) -> None:
        """What was counted since the last time, for monitoring."""
        self._tell_at = self._clock.monotonic() + TELL_S
        local = self.counts["local"]
        for run in self._runs.values():
            if run.links is not None:
                hits, misses = run.links.take_counts()
                local.hits += hits
                local.misses += misses
        for layer, counts in self.counts.items():
            now = msgspec.structs.astuple(counts)
            grown = [count - told for count, told in zip(now, self._told.get(layer, NOTHING), strict=True)]
            self._told[layer] = now
            if any(grown):
                self._bus.publish(UrlFilterCounted(0, layer, *grown))

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Settle what is not known, and let the layers know what was committed."""
        if not self._runs:
            return await self._ledger.settle(settlements)
        epoch = await self._current_epoch()
        by_run: dict[int, list[Settlement]] = {}
        for settlement in settlements:
            run_id = settlement.lease.run_id
            is_doubtful = self._doubtful > 0 and run_id in self._runs
            by_run.setdefault(run_id, []).append(_again(settlement) if is_doubtful else settlement)
        for run_id, run in list(self._runs.items()):
            if run_id in by_run:
                key = FilterKey("run", run_id, epoch)
                by_run[run_id] = await self._deduplicator.drop_known(key, run, by_run[run_id])
        report = await self._ledger.settle([one for group in by_run.values() for one in group])
        self._doubtful = max(self._doubtful - bool(settlements), 0)
        await self._remember(epoch, by_run, report)
        if self._clock.monotonic() >= self._tell_at:
            self._tell()
        return report

    async def _current_epoch(self) -> str:
        """Asked before each commit: what is committed in a store that is gone is only known under its epoch.

        Pages that were read before another one was noticed lack links whose rows may be gone.
        """
        epoch = await self._ask_epoch()
        if self._epoch not in (None, epoch):
            self._doubtful = DOUBTFUL_GROUPS
            for run in self._runs.values():
                if run.links is not None:
                    run.links.forget()
        self._epoch = epoch
        return epoch

    async def _remember(self, epoch: str, by_run: dict[int, list[Settlement]], report: SettleReport) -> None:
        stored, continued = set(report.stored), set(report.continued)
        for run_id, run in list(self._runs.items()):
            if not self._deduplicator.serves(run):
                continue
            committed = _committed(by_run.get(run_id, []), stored, continued)
            if committed:
                await self._deduplicator.remember(FilterKey("run", run_id, epoch), run, committed)


def _again(page: Settlement) -> Settlement:
    """A page that was stored is fetched once more; nothing else hangs on its links."""
    if not isinstance(page.verdict, Close) or page.verdict.state != "done":
        return page
    return msgspec.structs.replace(page, verdict=RetryLater(0.0, AGAIN, page.verdict.status, counts=False))


def _committed(pages: Sequence[Settlement], stored: set[int], continued: set[int]) -> list[bytes]:
    """Pages that are stored, with their children as they were settled; each once."""
    found: dict[bytes, None] = {}
    for page in pages:
        url_id, verdict = page.lease.url_id, page.verdict
        if url_id in stored and isinstance(verdict, Close):
            further = verdict.next_pages if url_id in continued else []
            found[page.lease.request.fingerprint] = None
            found.update((child.fingerprint, None) for child in (*verdict.children, *further))
    return list(found)
