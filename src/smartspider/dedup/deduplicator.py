"""Query URL filters and add committed URLs to them. A failing filter never stops a page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.events import UrlFilterFull
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.requests.request import Request
from smartspider.core.runs.plan import Plan
from smartspider.dedup.url_filter import FilterKey, FilterSize, FilterStack, UrlFilter
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus

TIMEOUT_S = 0.5
"""Timeout of a call to a filter."""
PAUSE_S = 5.0
"""A filter that failed is skipped for this long."""
WARN_SHARE = 0.8
CALM_SHARE = 0.7

T = TypeVar("T")


class FilterCounts(msgspec.Struct):
    """Counts of one filter in this process, in fingerprints."""

    hits: int = 0
    misses: int = 0
    added: int = 0
    refused: int = 0
    """Not added, because the memory budget was used up."""
    unavailable: int = 0
    """Calls that failed or timed out."""


class LinkMemory(Protocol):
    """The links of a run that this worker's link filter knows."""

    def forget(self) -> None:
        """Forget every stored link."""

    def take_counts(self) -> tuple[int, int]:
        """Return the hits and misses since the last call."""


class DedupRun(msgspec.Struct, frozen=True):
    """A run whose URLs are deduplicated."""

    plan: Plan
    task_id: int = 0
    links: LinkMemory | None = None
    """This worker's own memory."""

    @property
    def is_lossy(self) -> bool:
        """True if the task accepts false positives (`dedup.urls: bloom`)."""
        return self.plan.urls == "bloom"

    @property
    def is_filtered(self) -> bool:
        """True if every child of a stored page gets a row, which a budget per host prevents."""
        return self.plan.traps.max_urls_per_host is None


class Deduplicator:
    """Queries and fills the filters. One that fails or times out is skipped."""

    def __init__(
        self, filters: FilterStack, clock: Clock, bus: EventBus, *, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._timeout_s = timeout_s
        self._filters = filters
        self._clock = clock
        self._bus = bus
        self._paused_until: dict[str, float] = {}
        self._warned: dict[str, float] = {}
        self.counts = {name: FilterCounts() for name in ("local", "exact", "lossy", "estimates")}

    async def drop_known(
        self, key: FilterKey, run: DedupRun, group: Sequence[Settlement]
    ) -> list[Settlement]:
        """Return the pages of a run without known children, which count as duplicates."""
        if not self.serves(run):
            return list(group)
        known = await self._find_known("lossy" if run.is_lossy else "exact", key, _children(group))
        return [_without_known(page, known) for page in group] if known else list(group)

    def serves(self, run: DedupRun) -> bool:
        """Return whether a filter stores committed URLs of the run."""
        return self._filter("lossy" if run.is_lossy else "exact") is not None and run.is_filtered

    async def remember(self, key: FilterKey, run: DedupRun, fingerprints: list[bytes]) -> None:
        """Add fingerprints whose rows are committed."""
        await self._add("lossy" if run.is_lossy else "exact", key, fingerprints)
        await self._estimate(key.id, run.task_id, fingerprints)

    def _filter(self, name: str) -> UrlFilter | None:
        return self._filters.lossy if name == "lossy" else self._filters.exact

    async def _find_known(self, name: str, key: FilterKey, fingerprints: list[bytes]) -> set[bytes]:
        url_filter = self._filter(name)
        if url_filter is None or not fingerprints:
            return set()
        known = await self._call(name, lambda: url_filter.find_known(key, fingerprints))
        if known is None:
            return set()
        self.counts[name].hits += len(known)
        self.counts[name].misses += len(fingerprints) - len(known)
        return known

    async def _add(self, name: str, key: FilterKey, fingerprints: list[bytes]) -> None:
        url_filter = self._filter(name)
        if url_filter is None:
            return
        added = await self._call(name, lambda: url_filter.add(key, fingerprints))
        if added is not None:
            self.counts[name].added += added.new
            self.counts[name].refused += added.refused
            self._warn(name, key.id, added.size, is_full=added.refused > 0)

    async def _estimate(self, run_id: int, task_id: int, fingerprints: list[bytes]) -> None:
        estimates = self._filters.estimates
        if estimates is not None:
            keys = [FilterKey("run", run_id), *([FilterKey("task", task_id)] if task_id else [])]
            await self._call("estimates", lambda: estimates.add(keys, fingerprints))

    async def _call(self, name: str, act: Callable[[], Awaitable[T]]) -> T | None:
        """Return the result of a call; None if the filter is paused, fails or times out."""
        if self._clock.monotonic() < self._paused_until.get(name, 0.0):
            return None
        try:
            async with asyncio.timeout(self._timeout_s):
                return await act()
        except (StoreUnavailable, TimeoutError):
            self.counts[name].unavailable += 1
            self._paused_until[name] = self._clock.monotonic() + PAUSE_S
            return None

    def _warn(self, name: str, run_id: int, size: FilterSize, *, is_full: bool) -> None:
        """Publish once that a filter is nearly full, and once that it is full."""
        level = 1.0 if is_full else WARN_SHARE if size.share >= WARN_SHARE else 0.0
        if level > self._warned.get(name, 0.0):
            self._warned[name] = level
            self._bus.publish(UrlFilterFull(run_id, name, size.bytes_used, size.bytes_max, is_full=is_full))
        elif size.share < CALM_SHARE:
            self._warned.pop(name, None)


def _may_drop(page: Settlement, child: Request) -> bool:
    """Return whether a known child may be dropped. A next page may reopen a skipped row, and the target of a
    redirect is always fetched: the store decides about these.
    """
    return isinstance(page.verdict, Close) and page.verdict.state == "done" and not child.is_next_page


def _children(pages: Sequence[Settlement]) -> list[bytes]:
    """Return the children to look up, each once."""
    return list(
        dict.fromkeys(
            child.fingerprint
            for page in pages
            if isinstance(page.verdict, Close)
            for child in page.verdict.children
            if _may_drop(page, child)
        )
    )


def _without_known(page: Settlement, known: set[bytes]) -> Settlement:
    if not isinstance(page.verdict, Close):
        return page
    before = page.verdict.children
    children = [child for child in before if child.fingerprint not in known or not _may_drop(page, child)]
    if len(children) == len(before):
        return page
    return msgspec.structs.replace(
        page,
        verdict=msgspec.structs.replace(page.verdict, children=children),
        duplicate_urls=page.duplicate_urls + len(before) - len(children),
    )
