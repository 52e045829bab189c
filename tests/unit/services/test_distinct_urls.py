"""Estimates and sizes of URL filters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from smartspider.core.errors import StoreUnavailable
from smartspider.dedup.url_filter import FilterKey, FilterSize, FilterStack
from smartspider.services.dedup import DistinctUrls, check_filter_size, estimate_distinct, filter_sizes
from smartspider_testing.backends.memory_url_filter import MemoryUrlFilter
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import begin
from smartspider_testing.contracts.url_filter import fingerprints


class About:
    """Estimates that return given numbers, fail, or never respond."""

    def __init__(self, about: dict[FilterKey, int], *, fails: bool = False, hangs: bool = False) -> None:
        self._about = about
        self._fails, self._hangs = fails, hangs

    async def add(self, keys: Sequence[FilterKey], fingerprints: Sequence[bytes]) -> None:
        raise AssertionError("reading records nothing")

    async def estimate(self, keys: Sequence[FilterKey]) -> dict[FilterKey, int]:
        if self._fails:
            raise StoreUnavailable("away")
        if self._hangs:
            await asyncio.Event().wait()
        return {key: self._about.get(key, 0) for key in keys}


async def test_distinct_urls_are_returned_where_they_are_counted(backend: SqliteBackend) -> None:
    run = await begin(backend)
    counted = {FilterKey("run", run.id): 7, FilterKey("task", run.task_id): 11}
    distinct = await estimate_distinct(FilterStack(estimates=About(counted)), run)
    assert (distinct.of_run, distinct.of_task, distinct.error) == (7, 11, 0.0081)
    for layers in (
        FilterStack(),
        FilterStack(estimates=About({})),
        FilterStack(estimates=About(counted, fails=True)),
        FilterStack(estimates=About(counted, hangs=True)),
    ):
        assert await estimate_distinct(layers, run, wait_s=0.01) == DistinctUrls()
    assert DistinctUrls().error is None


async def test_sizes_of_filters_that_answer_are_returned() -> None:
    exact = MemoryUrlFilter()
    await exact.add(FilterKey("run", 1), fingerprints(0, 3))
    assert list(await filter_sizes(FilterStack(exact=exact))) == ["exact"]
    assert (await filter_sizes(FilterStack(exact=exact)))["exact"].entries == 3
    assert await filter_sizes(FilterStack()) == {}


def test_a_filter_that_is_nearly_full_is_not_ok() -> None:
    hits = ("smartspider_known_urls_total", (("layer", "lossy"), ("outcome", "hits")))
    well = check_filter_size("bloom", FilterSize(0, 79_000_000, 100_000_000), {hits: 5.0})
    assert (well.is_ok, well.detail) == (True, "79.0 of 100 MB (79 %), 5 hits, 0 misses, 0 refused")
    full = check_filter_size("exact", FilterSize(0, 80_000_000, 100_000_000), {})
    assert not full.is_ok
    assert "SMARTSPIDER_DEDUP_MEMORY" in full.detail
