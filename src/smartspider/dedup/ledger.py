"""A ledger with URL filters in front of it: the worker's memory, and filters that all workers share.

The store's unique key decides. Fingerprints are added to a filter only after the commit of their rows;
whatever a filter lost or cannot answer in time, the store answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from smartspider.core.events import UrlFilterCounted
from smartspider.core.frontier.verdict import Close, RetryLater, Settlement
from smartspider.dedup.deduplicator import TIMEOUT_S, Deduplicator, DedupRun, FilterCounts
from smartspider.dedup.url_filter import FilterKey, FilterStack
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.ledger import Ledger, SettleReport

PUBLISH_S = 10.0
DOUBTFUL_GROUPS = 2
"""Batches that may hold pages read before a new epoch was noticed: the current one and the next."""
STORE_CHANGED = "the store changed while the page was read"
NO_COUNTS = msgspec.structs.astuple(FilterCounts())


class DedupLedger:
    """A ledger that drops known children before it settles, see `interfaces/ledger.py`.

    Only runs inside `deduplicating` are affected. `epoch` returns the epoch of the store, see `FilterKey`.
    """

    def __init__(
        self,
        ledger: Ledger,
        filters: FilterStack,
        clock: Clock,
        bus: EventBus,
        *,
        epoch: Callable[[], Awaitable[str]],
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._deduplicator = Deduplicator(filters, clock, bus, timeout_s=timeout_s)
        self._ask_epoch = epoch
        self._epoch: str | None = None
        self._doubtful_groups = 0
        self._publish_at = 0.0
        self._bus = bus
        self._published: dict[str, tuple[int, ...]] = {}
        self._runs: dict[int, DedupRun] = {}

    @property
    def counts(self) -> dict[str, FilterCounts]:
        """The counts of each filter in this process."""
        return self._deduplicator.counts

    @contextmanager
    def deduplicating(self, run_id: int, run: DedupRun) -> Iterator[None]:
        """Deduplicate the URLs of a run during the block; the block entered last defines how."""
        self._runs[run_id] = run
        try:
            yield
        finally:
            self._publish_counts()
            if self._runs.get(run_id) is run:
                del self._runs[run_id]

    def _publish_counts(self) -> None:
        """Publish the counts since the last time."""
        self._publish_at = self._clock.monotonic() + PUBLISH_S
        local = self.counts["local"]
        for run in self._runs.values():
            if run.links is not None:
                hits, misses = run.links.take_counts()
                local.hits += hits
                local.misses += misses
        for name, counts in self.counts.items():
            now = msgspec.structs.astuple(counts)
            grown = [
                count - before
                for count, before in zip(now, self._published.get(name, NO_COUNTS), strict=True)
            ]
            self._published[name] = now
            if any(grown):
                self._bus.publish(UrlFilterCounted(0, name, *grown))

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        """Settle without known children, then add committed URLs to the filters."""
        if not self._runs:
            return await self._ledger.settle(settlements)
        epoch = await self._current_epoch()
        by_run: dict[int, list[Settlement]] = {}
        for settlement in settlements:
            run_id = settlement.lease.run_id
            is_doubtful = self._doubtful_groups > 0 and run_id in self._runs
            by_run.setdefault(run_id, []).append(_retry_page(settlement) if is_doubtful else settlement)
        for run_id, run in list(self._runs.items()):
            if run_id in by_run:
                key = FilterKey("run", run_id, epoch)
                by_run[run_id] = await self._deduplicator.drop_known(key, run, by_run[run_id])
        report = await self._ledger.settle([one for group in by_run.values() for one in group])
        self._doubtful_groups = max(self._doubtful_groups - bool(settlements), 0)
        await self._remember(epoch, by_run, report)
        if self._clock.monotonic() >= self._publish_at:
            self._publish_counts()
        return report

    async def _current_epoch(self) -> str:
        """Return the epoch of the store, read before each commit: what is committed in a lost store is known
        only under its epoch.

        Pages read before a new epoch was noticed lack links whose rows may be lost.
        """
        epoch = await self._ask_epoch()
        if self._epoch not in (None, epoch):
            self._doubtful_groups = DOUBTFUL_GROUPS
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


def _retry_page(page: Settlement) -> Settlement:
    """Replace a stored page by a retry; other verdicts do not depend on links."""
    if not isinstance(page.verdict, Close) or page.verdict.state != "done":
        return page
    return msgspec.structs.replace(
        page, verdict=RetryLater(0.0, STORE_CHANGED, page.verdict.status, counts=False)
    )


def _committed(pages: Sequence[Settlement], stored: set[int], continued: set[int]) -> list[bytes]:
    """Return the fingerprints of stored pages and their children, each once."""
    found: dict[bytes, None] = {}
    for page in pages:
        url_id, verdict = page.lease.url_id, page.verdict
        if url_id in stored and isinstance(verdict, Close):
            further = verdict.next_pages if url_id in continued else []
            found[page.lease.request.fingerprint] = None
            found.update((child.fingerprint, None) for child in (*verdict.children, *further))
    return list(found)
