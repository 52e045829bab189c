"""Do layers in front of the store agree with it? What they know and no row stands for would lose pages."""

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
    seen: ExactUrlFilter, rows: StoredUrls, epoch: str, *, repair: bool = False, at_most: int | None = None
) -> list[Finding]:
    """Compare all sets of runs with the rows, or `at_most` so many entries of each; `repair` drops what is
    wrong. It may be done while runs go on: a row is always there before its entry.
    """
    findings = []
    keys = [key for key in await seen.keys() if key.kind == "run"]
    totals = await rows.totals([key.id for key in keys])
    for key in keys:
        if key.id not in totals:
            wrong = "the run is not there"
        elif key.epoch != epoch:
            wrong = "they are of another epoch of the store"
        else:
            wrong = await _without_rows(seen, rows, key, at_most)
        if wrong and repair:
            await seen.drop(key)
        if wrong:
            findings.append(Finding(CODE, f"known URLs of run {key.id}: {wrong}", is_repaired=repair))
    return findings


async def _without_rows(seen: ExactUrlFilter, rows: StoredUrls, key: FilterKey, at_most: int | None) -> str:
    looked_at = 0
    async for batch in seen.entries(key):
        looked_at += len(batch)
        without = set(batch) - await rows.stored(key.id, batch)
        if without:
            return f"{len(without)} of {looked_at} looked at have no row"
        if at_most is not None and looked_at >= at_most:
            break
    return ""


async def drop_finished(layers: Sequence[UrlFilter], live: Collection[int], epoch: str) -> list[FilterKey]:
    """Free what layers know of runs that are not `live`, and of other epochs; which keys it was. A run that
    is opened again learns anew.
    """
    dropped = []
    for layer in layers:
        for key in await layer.keys():
            if key.epoch != epoch or (key.kind == "run" and key.id not in live):
                await layer.drop(key)
                dropped.append(key)
    return dropped


WAIT_S = 0.5
WARN_SHARE = 0.8
ERROR = 0.0081
"""The standard error of an estimate, as a share of it: two of three are nearer than that."""

COUNTED = "smartspider_known_urls_total"
LABELS = {"bloom": "lossy"}
"""Of layers that are counted by another name."""
ADVICE = "give it more by SMARTSPIDER_DEDUP_MEMORY, or the store is asked"

T = TypeVar("T")


class DistinctUrls(msgspec.Struct, frozen=True):
    """About how many distinct URLs there are; None where nobody counts them."""

    of_run: int | None = None
    of_task: int | None = None
    """Of all runs of the task together."""

    @property
    def error(self) -> float | None:
        """See `ERROR`."""
        return ERROR if self.of_run is not None else None


async def estimate_distinct(layers: FilterStack, run: Run) -> DistinctUrls:
    """About how many distinct URLs a run and its task have met."""
    if layers.estimates is None:
        return DistinctUrls()
    of_run, of_task = FilterKey("run", run.id), FilterKey("task", run.task_id)
    about = await _or_none(layers.estimates.estimate([of_run, of_task])) or {}
    return DistinctUrls(about.get(of_run) or None, about.get(of_task) or None)


async def filter_sizes(layers: FilterStack) -> dict[str, FilterSize]:
    """How large layers are that have a budget, by name; one that does not answer is left out."""
    asked = {"exact": layers.exact, "bloom": layers.lossy}
    found = {name: await _or_none(layer.size()) for name, layer in asked.items() if layer is not None}
    return {name: size for name, size in found.items() if size is not None}


def check_filter_size(name: str, size: FilterSize, sums: Mapping[MetricKey, float]) -> DoctorCheck:
    """Whether a layer has room, and what it was asked so far; `sums` are those of the installation."""
    used = f"{size.bytes_used / 1e6:.1f} of {size.bytes_max / 1e6:.0f} MB ({size.share:.0%})".replace(
        "%", " %"
    )
    asked = {
        outcome: int(sums.get((COUNTED, (("layer", LABELS.get(name, name)), ("outcome", outcome))), 0.0))
        for outcome in ("hits", "misses", "refused")
    }
    detail = ", ".join([used, *(f"{number} {outcome}" for outcome, number in asked.items())])
    is_ok = size.share < WARN_SHARE
    return DoctorCheck(f"known URLs, {name}", is_ok, detail if is_ok else f"{detail}: {ADVICE}")


async def _or_none(answer: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(WAIT_S):
            return await answer
    except (StoreUnavailable, TimeoutError):
        return None
