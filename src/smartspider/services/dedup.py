"""URL filters: consistency with the store, distinct URLs, sizes. A wrong entry would lose pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import TypeVar

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.runs.run import Run
from smartspider.dedup.url_filter import (
    ExactUrlFilter,
    FilterKey,
    FilterSize,
    FilterStack,
    StoredUrls,
    UrlFilter,
)
from smartspider.services.doctor import DoctorCheck
from smartspider.store.metrics import MetricKey
from smartspider.store.runs.fsck import Finding

CODE = "known_urls"


async def check_filter(
    url_filter: ExactUrlFilter,
    rows: StoredUrls,
    epoch: str,
    *,
    repair: bool = False,
) -> list[Finding]:
    """Compare the sets of runs with the rows; `repair` drops wrong sets. Safe while runs go on: a row always
    exists before its entry.
    """
    findings = []
    keys = [key for key in await url_filter.keys() if key.kind == "run"]
    totals = await rows.totals([key.id for key in keys])
    for key in keys:
        if key.id not in totals:
            wrong = "the run does not exist"
        elif key.epoch != epoch:
            wrong = "they belong to another epoch of the store"
        else:
            wrong = await _without_rows(url_filter, rows, key)
        if wrong and repair:
            await url_filter.drop(key)
        if wrong:
            findings.append(Finding(CODE, f"known URLs of run {key.id}: {wrong}", is_repaired=repair))
    return findings


async def _without_rows(url_filter: ExactUrlFilter, rows: StoredUrls, key: FilterKey) -> str:
    looked_at = 0
    async for batch in url_filter.entries(key):
        looked_at += len(batch)
        without = set(batch) - await rows.stored(key.id, batch)
        if without:
            return f"{len(without)} of {looked_at} checked entries have no row"
    return ""


async def drop_finished(filters: Sequence[UrlFilter], live: Collection[int], epoch: str) -> list[FilterKey]:
    """Drop the sets of runs that are not `live` and of other epochs; return their keys. A resumed run starts
    a new set.
    """
    dropped = []
    for url_filter in filters:
        for key in await url_filter.keys():
            if key.epoch != epoch or (key.kind == "run" and key.id not in live):
                await url_filter.drop(key)
                dropped.append(key)
    return dropped


WAIT_S = 0.5
"""Time a filter has to answer; reports do without one that is slower."""
WARN_SHARE = 0.8
ERROR = 0.0081
"""The relative standard error of an estimate: two of three are nearer than that."""

COUNTED = "smartspider_known_urls_total"
LABELS = {"bloom": "lossy"}
"""Metric labels of filters that differ from their names."""
ADVICE = "raise SMARTSPIDER_DEDUP_MEMORY, else the store is queried"

T = TypeVar("T")


class DistinctUrls(msgspec.Struct, frozen=True):
    """Estimated numbers of distinct URLs; None where they are not counted."""

    of_run: int | None = None
    of_task: int | None = None
    """All runs of the task together."""

    @property
    def error(self) -> float | None:
        """See `ERROR`."""
        return ERROR if self.of_run is not None else None


async def estimate_distinct(filters: FilterStack, run: Run, wait_s: float = WAIT_S) -> DistinctUrls:
    """Estimate the distinct URLs of a run and of its task; unknown if that takes longer than `wait_s`."""
    if filters.estimates is None:
        return DistinctUrls()
    of_run, of_task = FilterKey("run", run.id), FilterKey("task", run.task_id)
    about = await _or_none(filters.estimates.estimate([of_run, of_task]), wait_s) or {}
    return DistinctUrls(about.get(of_run) or None, about.get(of_task) or None)


async def filter_sizes(filters: FilterStack) -> dict[str, FilterSize]:
    """Return the sizes of filters that have a budget, by name; those that do not answer are left out."""
    sizes = {"exact": filters.exact, "bloom": filters.lossy}
    found = {
        name: await _or_none(url_filter.size())
        for name, url_filter in sizes.items()
        if url_filter is not None
    }
    return {name: size for name, size in found.items() if size is not None}


def check_filter_size(name: str, size: FilterSize, sums: Mapping[MetricKey, float]) -> DoctorCheck:
    """Check the free space of a filter and report its lookups; `sums` are the metrics of the installation."""
    used = f"{size.bytes_used / 1e6:.1f} of {size.bytes_max / 1e6:.0f} MB ({size.share:.0%})".replace(
        "%", " %"
    )
    sizes = {
        outcome: int(sums.get((COUNTED, (("layer", LABELS.get(name, name)), ("outcome", outcome))), 0.0))
        for outcome in ("hits", "misses", "refused")
    }
    detail = ", ".join([used, *(f"{number} {outcome}" for outcome, number in sizes.items())])
    is_ok = size.share < WARN_SHARE
    return DoctorCheck(f"known URLs, {name}", is_ok, detail if is_ok else f"{detail}: {ADVICE}")


async def _or_none(answer: Awaitable[T], wait_s: float = WAIT_S) -> T | None:
    try:
        async with asyncio.timeout(wait_s):
            return await answer
    except (StoreUnavailable, TimeoutError):
        return None
