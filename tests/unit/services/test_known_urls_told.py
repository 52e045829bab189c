"""What layers in front of the store tell those who look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from smartspider.core.errors import StoreUnavailable
from smartspider.interfaces.seen import Layers, SeenKey, SeenSize
from smartspider.services import known_urls
from smartspider.services.known_urls import Distinct, check_layer, distinct, sizes
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.acts import begin
from smartspider_testing.contracts.seen import fingerprints
from smartspider_testing.memory_seen import MemorySeen
from smartspider_testing.sqlite import SqliteGround


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[SqliteGround]:
    ground = SqliteGround(tmp_path / "data", ManualClock())
    yield ground
    await ground.close()


class About:
    """Estimates that say what they are told, fail, or never answer."""

    def __init__(self, about: dict[SeenKey, int], *, fails: bool = False, hangs: bool = False) -> None:
        self._about = about
        self._fails, self._hangs = fails, hangs

    async def note(self, keys: Sequence[SeenKey], fingerprints: Sequence[bytes]) -> None:
        raise AssertionError("nobody who looks notes anything")

    async def about(self, keys: Sequence[SeenKey]) -> dict[SeenKey, int]:
        if self._fails:
            raise StoreUnavailable("away")
        if self._hangs:
            await asyncio.Event().wait()
        return {key: self._about.get(key, 0) for key in keys}


async def test_distinct_urls_are_told_where_somebody_counts_them(
    ground: SqliteGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_urls, "WAIT_S", 0.01)
    run = await begin(ground)
    counted = {SeenKey("run", run.id): 7, SeenKey("task", run.task_id): 11}
    told = await distinct(Layers(estimates=About(counted)), run)
    assert (told.of_run, told.of_task, told.error) == (7, 11, 0.0081)
    for layers in (
        Layers(),
        Layers(estimates=About({})),
        Layers(estimates=About(counted, fails=True)),
        Layers(estimates=About(counted, hangs=True)),
    ):
        assert await distinct(layers, run) == Distinct()
    assert Distinct().error is None


async def test_sizes_are_told_of_layers_that_answer() -> None:
    exact = MemorySeen()
    await exact.add(SeenKey("run", 1), fingerprints(0, 3))
    assert list(await sizes(Layers(exact=exact))) == ["exact"]
    assert (await sizes(Layers(exact=exact)))["exact"].entries == 3
    assert await sizes(Layers()) == {}


def test_a_layer_that_is_nearly_full_is_not_well() -> None:
    hits = ("smartspider_known_urls_total", (("layer", "lossy"), ("outcome", "hits")))
    well = check_layer("bloom", SeenSize(0, 79_000_000, 100_000_000), {hits: 5.0})
    assert (well.is_ok, well.detail) == (True, "79.0 of 100 MB (79 %), 5 hits, 0 misses, 0 refused")
    full = check_layer("exact", SeenSize(0, 80_000_000, 100_000_000), {})
    assert not full.is_ok
    assert "SMARTSPIDER_DEDUP_MEMORY" in full.detail
