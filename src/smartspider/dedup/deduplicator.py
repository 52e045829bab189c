"""Asking layers what is known, and telling them what was committed. None of it can stop a page."""

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
from smartspider.dedup.url_filter import FilterKey, FilterSize, FilterStack, LocalFront, UrlFilter
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus

WAIT_S = 0.5
"""A layer that does not answer within this time is passed over."""
REST_S = 5.0
"""For so long it is then left alone."""
REFRESH_S = 1.0
WARN_SHARE = 0.8
CALM_SHARE = 0.7
DAY_S = 86_400.0

T = TypeVar("T")


class FilterCounts(msgspec.Struct):
    """What a layer did so far in this process, in fingerprints."""

    hits: int = 0
    misses: int = 0
    certainly_new: int = 0
    """Of a front: spared the question."""
    false_positives: int = 0
    """Of a front: asked for nothing."""
    added: int = 0
    refused: int = 0
    """Did not fit into the budget."""
    unavailable: int = 0
    """Questions that were not answered, or not in time."""


class LinkMemory(Protocol):
    """The links of a run that this worker has stored, as the worker's link filter remembers them."""

    def forget(self) -> None:
        """Forget every stored link."""

    def take_counts(self) -> tuple[int, int]:
        """Return the hits and misses since the last call."""


class DedupRun(msgspec.Struct, frozen=True):
    """What is asked about a run whose pages are sifted."""

    plan: Plan
    task_id: int = 0
    links: LinkMemory | None = None
    """What this worker knows of it."""

    @property
    def is_lossy(self) -> bool:
        """Whether its task takes a hit of the filter for a duplicate."""
        return self.plan.urls == "bloom"

    @property
    def is_filtered(self) -> bool:
        """Whether each child of a stored page has a row; beyond a budget for its host it has none."""
        return self.plan.traps.max_urls_per_host is None


class Deduplicator:
    """Asks the layers and tells them. One that fails or takes too long is passed over, never raised."""

    def __init__(self, layers: FilterStack, clock: Clock, bus: EventBus) -> None:
        self._layers = layers
        self._clock = clock
        self._bus = bus
        self._resting: dict[str, float] = {}
        self._warned: dict[str, float] = {}
        self._refresh_at: dict[FilterKey, float] = {}
        self.counts = {name: FilterCounts() for name in ("local", "front", "exact", "lossy", "estimates")}

    async def drop_known(
        self, key: FilterKey, run: DedupRun, group: Sequence[Settlement]
    ) -> list[Settlement]:
        """The same pages of a run without children that are known: those count as duplicates."""
        if not self.serves(run):
            return list(group)
        known = await (self._lossy_known if run.is_lossy else self._exact_known)(key, _asked(group))
        return [_without(page, known) for page in group] if known else list(group)

    def serves(self, run: DedupRun) -> bool:
        """Whether a layer wants to hear what is committed of a run."""
        layer = self._layers.lossy if run.is_lossy else self._layers.exact
        return layer is not None and run.is_filtered

    async def remember(self, key: FilterKey, run: DedupRun, fingerprints: list[bytes]) -> None:
        """The rows of these are committed."""
        await self._tell("lossy" if run.is_lossy else "exact", key, fingerprints)
        if not run.is_lossy:
            await self._note(key, fingerprints)
        await self._estimate(key.id, run.task_id, fingerprints)

    def forget(self, run_id: int) -> None:
        """Nobody asks about a run any more; what is kept here to ask faster is let go."""
        for key in [key for key in self._refresh_at if key.id == run_id]:
            del self._refresh_at[key]
            if self._layers.front is not None:
                self._layers.front.forget(key)

    async def _exact_known(self, key: FilterKey, fingerprints: list[bytes]) -> set[bytes]:
        layers, counts = self._layers, self.counts["front"]
        if layers.exact is None:
            return set()
        asked = fingerprints
        if layers.front is not None:
            await self._refresh(layers.front, key)
            maybe = layers.front.find_possibly_known(key, fingerprints)
            counts.certainly_new += len(fingerprints) - len(maybe)
            asked = [one for one in fingerprints if one in maybe]
        known = await self._ask("exact", layers.exact, key, asked)
        if layers.front is not None:
            counts.hits += len(known)
            counts.false_positives += len(asked) - len(known)
        return known

    async def _lossy_known(self, key: FilterKey, fingerprints: list[bytes]) -> set[bytes]:
        lossy = self._layers.lossy
        return set() if lossy is None else await self._ask("lossy", lossy, key, fingerprints)

    async def _ask(
        self, name: str, layer: UrlFilter, key: FilterKey, fingerprints: list[bytes]
    ) -> set[bytes]:
        if not fingerprints:
            return set()
        known = await self._guarded(name, lambda: layer.find_known(key, fingerprints))
        if known is None:
            return set()
        self.counts[name].hits += len(known)
        self.counts[name].misses += len(fingerprints) - len(known)
        return known

    async def _tell(self, name: str, key: FilterKey, fingerprints: list[bytes]) -> None:
        layer = self._layers.lossy if name == "lossy" else self._layers.exact
        if layer is None:
            return
        day = int(self._clock.now() // DAY_S)
        added = await self._guarded(name, lambda: layer.add(key, fingerprints, day=day))
        if added is not None:
            self.counts[name].added += added.new
            self.counts[name].refused += added.refused
            self._warn(name, key.id, added.size, is_full=added.refused > 0)

    async def _note(self, key: FilterKey, fingerprints: list[bytes]) -> None:
        front = self._layers.front
        if front is None or self._layers.exact is None:
            return
        size = await self._guarded("front", lambda: front.add(key, fingerprints))
        if size is not None:
            self._warn("front", key.id, size, is_full=False)

    async def _estimate(self, run_id: int, task_id: int, fingerprints: list[bytes]) -> None:
        estimates = self._layers.estimates
        if estimates is not None:
            keys = [FilterKey("run", run_id), *([FilterKey("task", task_id)] if task_id else [])]
            await self._guarded("estimates", lambda: estimates.add(keys, fingerprints))

    async def _refresh(self, front: LocalFront, key: FilterKey) -> None:
        now = self._clock.monotonic()
        if now < self._refresh_at.get(key, 0.0):
            return
        self._refresh_at[key] = now + REFRESH_S
        await self._guarded("front", lambda: front.refresh(key))

    async def _guarded(self, name: str, act: Callable[[], Awaitable[T]]) -> T | None:
        """The answer of a layer; None when it rests, fails or takes too long."""
        if self._clock.monotonic() < self._resting.get(name, 0.0):
            return None
        try:
            async with asyncio.timeout(WAIT_S):
                return await act()
        except (StoreUnavailable, TimeoutError):
            self.counts[name].unavailable += 1
            self._resting[name] = self._clock.monotonic() + REST_S
            return None

    def _warn(self, name: str, run_id: int, size: FilterSize, *, is_full: bool) -> None:
        """Tell once when a layer gets full, and once when it is."""
        level = 1.0 if is_full else WARN_SHARE if size.share >= WARN_SHARE else 0.0
        if level > self._warned.get(name, 0.0):
            self._warned[name] = level
            self._bus.publish(UrlFilterFull(run_id, name, size.bytes_used, size.bytes_max, is_full=is_full))
        elif size.share < CALM_SHARE:
            self._warned.pop(name, None)


def _is_asked_for(page: Settlement, child: Request) -> bool:
    """Whether nobody misses a child that is known. A further page may wake a row that was left alone, and
    what a redirect leads to is always fetched: these are for the store.
    """
    return isinstance(page.verdict, Close) and page.verdict.state == "done" and not child.is_next_page


def _asked(pages: Sequence[Settlement]) -> list[bytes]:
    """Children to ask about, each once."""
    return list(
        dict.fromkeys(
            child.fingerprint
            for page in pages
            if isinstance(page.verdict, Close)
            for child in page.verdict.children
            if _is_asked_for(page, child)
        )
    )


def _without(page: Settlement, known: set[bytes]) -> Settlement:
    if not isinstance(page.verdict, Close):
        return page
    before = page.verdict.children
    children = [child for child in before if child.fingerprint not in known or not _is_asked_for(page, child)]
    if len(children) == len(before):
        return page
    return msgspec.structs.replace(
        page,
        verdict=msgspec.structs.replace(page.verdict, children=children),
        duplicate_urls=page.duplicate_urls + len(before) - len(children),
    )
