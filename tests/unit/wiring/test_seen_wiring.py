"""Layers in front of the store, as an installation uses them: workers, keeper, `fsck` and settings."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smartspider.backends.sqlite.seen import FOLDER, FolderBloom
from smartspider.cli import run_view
from smartspider.core.errors import SettingInvalid
from smartspider.core.fingerprint import fingerprint
from smartspider.core.runs import Run
from smartspider.engine.ground import Manner
from smartspider.engine.known import RecentSet
from smartspider.engine.links import LinkFilter
from smartspider.engine.patience import Patience
from smartspider.engine.seen import SeenLedger
from smartspider.interfaces.leadership import Term
from smartspider.interfaces.seen import SeenKey
from smartspider.keeper.tidying import FreeKnown
from smartspider.services import runs
from smartspider.services.metrics import gather
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring import checking
from smartspider.wiring.crawl import crawl_run
from smartspider.wiring.deleting import forget_run
from smartspider.wiring.desk import desk_of
from smartspider.wiring.folder import DataFolder, open_folder
from smartspider.wiring.keeper_process import keeper_of
from smartspider.wiring.known import open_known, seen_place
from smartspider.wiring.opening import open_premises
from smartspider.wiring.plans import plan_of
from smartspider.wiring.premises import Premises
from smartspider.wiring.seen import memory_of, open_layers
from smartspider.wiring.settings import Settings, read_settings
from smartspider.wiring.worker import Workplace, bus_of, fleet_worker
from smartspider_testing.contracts.seen import fingerprints
from smartspider_testing.memory_seen import MemorySeen
from smartspider_testing.servers import RedisServer
from smartspider_testing.site import ScriptableSite

PAGES = [f"/{number}" for number in range(8)]
TERM = Term("tests", 1, 1e12)
CLUSTER = {"STORE_URL": "postgresql://db/x", "FRONTIER_URL": "redis://cache"}


@pytest.fixture
async def site() -> AsyncIterator[ScriptableSite]:
    """Each page links to all others."""
    async with ScriptableSite() as site:
        yield site.link(dict.fromkeys(("/", *PAGES), PAGES))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DataFolder]:
    with open_folder(tmp_path / "data") as folder:
        yield folder


async def queue_run(premises: Premises, site: ScriptableSite, **more: Any) -> Run:
    task = {
        "name": "links",
        "entry_urls": [site.url("/")],
        "selectors": {"fields": {"url": {"type": "meta", "expr": "url"}}},
        "follow": [{"selector": "a"}],
        "politeness": {"delay_s": 0, "robots": "ignore"},
        **more,
    }
    return await premises.store.create_run(compile_task(parse_task(task)))


async def crawled(folder: DataFolder, run: Run, *, workers: int = 1) -> Run:
    return await crawl_run(
        folder, run, plan_of(run), Settings(), workers=workers, on_ready=lambda _stop: None
    )


@asynccontextmanager
async def fleet_at_work(premises: Premises, settings: Settings) -> AsyncIterator[SeenLedger]:
    bus = bus_of()
    async with open_known(premises, settings, bus) as known:
        patience = Patience(premises.clock, bus, is_endless=premises.is_cluster)
        place = Workplace(premises, settings, bus, patience=patience, known=known)
        worker = fleet_worker(place, number=0, slots=4, manner=Manner(reclaims=not premises.is_cluster))
        working = asyncio.create_task(worker.run())
        assert known.ledger is not None
        try:
            yield known.ledger
        finally:
            worker.stop()
            await working


async def over(premises: Premises, run: Run) -> Run:
    async with asyncio.timeout(30.0):
        while (await premises.store.get_run(run.id)).finished_at is None:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)
    return await premises.store.get_run(run.id)


def read(folder: Path, **environment: str) -> Settings:
    return read_settings({f"SMARTSPIDER_{name}": value for name, value in environment.items()}, folder)


def test_nothing_is_shared_unless_a_cluster_is_told_to(tmp_path: Path) -> None:
    assert (read(tmp_path).dedup, memory_of(read(tmp_path).dedup_memory)) == ("off", 256_000_000)
    assert read(tmp_path, **CLUSTER, DEDUP="exact+bloom").dedup == "exact+bloom"
    with pytest.raises(SettingInvalid, match="only workers of a cluster share known URLs"):
        read(tmp_path, DEDUP="exact")
    with pytest.raises(SettingInvalid, match="SMARTSPIDER_DEDUP is 'bloom'"):
        read(tmp_path, **CLUSTER, DEDUP="bloom")


@pytest.mark.parametrize(
    ("text", "size"), [("1MB", 10**6), (" 2 gb ", 2 * 10**9), ("0MB", 0), ("5", 0), ("1TB", 0), ("-1MB", 0)]
)
def test_the_budget_of_a_layer_is_a_size(tmp_path: Path, text: str, size: int) -> None:
    if size:
        assert memory_of(read(tmp_path, DEDUP_MEMORY=text).dedup_memory) == size
    else:
        with pytest.raises(SettingInvalid, match="SMARTSPIDER_DEDUP_MEMORY is"):
            read(tmp_path, DEDUP_MEMORY=text)


async def test_a_plain_crawl_has_nothing_in_front_of_its_store(
    folder: DataFolder, site: ScriptableSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("no layer is needed")

    monkeypatch.setattr(SeenLedger, "settle", never)
    monkeypatch.setattr(FolderBloom, "__init__", never)
    ended = await crawled(folder, await queue_run(folder, site))
    assert (ended.state, ended.counters.done) == ("completed", 9)
    assert Workplace(folder, Settings(), bus_of()).ground.ledger is folder.ledger


def test_workers_of_a_data_folder_import_no_redis() -> None:
    code = """
import sys
import smartspider.wiring.worker_process, smartspider.cli.crawling, smartspider.wiring.checking
sys.exit(" ".join({"redis", "psycopg"} & set(sys.modules)) or 0)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_crawl_by_filter_gives_the_same_pages_and_leaves_no_filter(
    folder: DataFolder, site: ScriptableSite, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    add = FolderBloom.add

    async def noting(self: FolderBloom, key: SeenKey, given: Any, *, day: int = 0) -> Any:
        added = await add(self, key, given, day=day)
        told.append(added.new)
        return added

    monkeypatch.setattr(FolderBloom, "add", noting)
    ended = await crawled(folder, await queue_run(folder, site, dedup={"urls": "bloom"}), workers=workers)
    assert (ended.state, ended.counters.done, ended.counters.items) == ("completed", 9, 9)
    assert len(site.requests()) == 9
    assert workers > 1 or sum(told) == 9
    assert (folder.path / FOLDER).exists()
    assert list((folder.path / FOLDER).iterdir()) == []


async def test_what_the_filter_calls_known_is_not_fetched(folder: DataFolder, site: ScriptableSite) -> None:
    """The price that a task pays by name: here the filter knows a page that nobody stored."""
    for urls, pages in (("bloom", 8), ("exact", 9)):
        run = await queue_run(folder, site, name=urls, dedup={"urls": urls})
        async with open_layers(seen_place(folder, Settings())) as layers:
            assert layers.lossy is not None
            await layers.lossy.add(SeenKey("run", run.id), [fingerprint(site.url(PAGES[3]))])
        assert (await crawled(folder, run)).counters.done == pages


async def test_workers_of_a_server_sift_only_runs_that_ask_for_it(
    folder: DataFolder, site: ScriptableSite
) -> None:
    async with fleet_at_work(folder, Settings(allow_private="1")) as ledger:
        await over(folder, await queue_run(folder, site))
        assert (ledger.counts["lossy"].added, ledger.counts["local"].misses) == (0, 0)
        run = await over(folder, await queue_run(folder, site, name="other", dedup={"urls": "bloom"}))
        assert (run.counters.done, ledger.counts["lossy"].added) == (9, 9)


async def test_a_filter_that_knows_more_than_the_store_is_forgotten(
    folder: DataFolder, site: ScriptableSite
) -> None:
    """The database was made anew or is an older copy, and what is known of a run is of another one."""
    run, place = await queue_run(folder, site), seen_place(folder, Settings())
    key, given = SeenKey("run", run.id), fingerprints(0, 5)
    older = FolderBloom(folder.path)
    await older.add(key, given[:1])
    async with open_layers(place) as layers:
        assert layers.lossy is not None
        assert await layers.lossy.known(key, given) == set(given[:1]), "the entry has a row"
    await older.add(key, given)
    async with open_layers(place) as layers:
        assert layers.lossy is not None
        assert await layers.lossy.known(key, given) == set()
    older.close()


async def test_a_run_that_is_deleted_takes_its_filter_with_it(
    folder: DataFolder, site: ScriptableSite
) -> None:
    run = await queue_run(folder, site)
    bloom = FolderBloom(folder.path)
    await bloom.add(SeenKey("run", run.id), fingerprints(0, 1))
    await folder.store.set_state(run.id, "cancelled")
    await forget_run(folder, run.id, actor="tests")
    assert await bloom.keys() == []
    bloom.close()


async def test_the_keeper_frees_what_is_known_of_runs_that_are_over(
    folder: DataFolder, site: ScriptableSite
) -> None:
    states = ("running", "paused", "cancelled")
    runs = [await queue_run(folder, site, name=state) for state in ("queued", *states)]
    for run, state in zip(runs[1:], states, strict=True):
        await folder.store.set_state(run.id, state)  # type: ignore[arg-type]
    layer = MemorySeen()
    for run_id in [*(run.id for run in runs), 999]:
        await layer.add(SeenKey("run", run_id), fingerprints(0, 1))
    await FreeKnown([layer], folder.store, None).do(TERM)
    assert {key.id for key in await layer.keys()} == {run.id for run in runs[:3]}
    await layer.add(SeenKey("run", runs[0].id, "another"), fingerprints(0, 1))

    async def epoch() -> str:
        return "another"

    await FreeKnown([layer], folder.store, epoch).do(TERM)
    assert await layer.keys() == [SeenKey("run", runs[0].id, "another")]


async def test_mending_a_data_folder_drops_its_filters(folder: DataFolder) -> None:
    bloom = FolderBloom(folder.path)
    await bloom.add(SeenKey("run", 1), fingerprints(0, 1))
    assert await checking.check(folder, Settings(), repair=False) == []
    assert len(await bloom.keys()) == 1
    assert await checking.check(folder, Settings(), repair=True) == []
    assert await bloom.keys() == []
    bloom.close()


async def _check_told(premises: Premises, settings: Settings, run: Run) -> None:
    """Whoever looks is told about how many distinct URLs there are, and what that takes."""
    desk = desk_of(premises, settings)
    status = await runs.status(desk, run.id)
    assert (status.distinct_estimate, status.task_distinct_estimate, status.distinct_error) == (9, 9, 0.0081)
    metrics = await runs.metrics(desk, run.id)
    assert metrics.distinct_estimate == 9
    shown = run_view.lines(metrics, await runs.receipt(desk, run.id))
    assert "  distinct URLs   about 9 (± 0.8 %), 9 of all runs" in shown
    families = {family.name: family.values for family in (await gather(premises.metrics, premises.layers))[0]}
    exact = (("layer", "exact"),)
    assert families["smartspider_known_urls_bytes"][exact] == 9 * 25
    assert families["smartspider_known_urls_budget_bytes"][exact] == 256_000_000
    checks, _ = await checking.check_servers(settings)
    told = {check.what: check for check in checks}["known URLs, exact"]
    assert (told.is_ok, told.detail.partition(",")[0]) == (True, "0.0 of 256 MB (0 %)")


class Histories:
    """A store whose history is told by hand."""

    def __init__(self) -> None:
        self.now = "first"

    async def epoch(self) -> str:
        return self.now


async def test_what_a_worker_remembers_ends_with_the_history_of_a_database(
    folder: DataFolder, site: ScriptableSite
) -> None:
    """Also where nothing is shared: a standby that took over may lack rows that the worker saw committed."""
    run = await queue_run(folder, site)
    cluster = msgspec.structs.replace(folder, apart=object(), seen_rows=(history := Histories()))
    settings = Settings(store_url="postgresql://db/x", frontier_url="redis://cache", dedup="off")
    remembered: RecentSet[bytes] = RecentSet()
    remembered.add(b"a child")
    plan = plan_of(run)
    async with open_known(cluster, settings, bus_of()) as known:
        assert known.ledger is not None
        with known.sifting(run, plan, LinkFilter(plan, lambda _: True, remembered)):
            await known.ledger.settle([])
            assert len(remembered) == 1
            history.now = "second"
            await known.ledger.settle([])
    assert len(remembered) == 0


async def test_workers_of_a_cluster_share_what_they_stored_and_fsck_compares_it(
    empty_store: str, empty_redis: RedisServer, site: ScriptableSite, tmp_path: Path
) -> None:
    settings = Settings(
        store_url=empty_store,
        frontier_url=empty_redis.url,
        master_key="the same on all machines",
        allow_private="1",
        dedup="exact+bloom",
    )
    async with (
        open_premises(tmp_path, settings, "worker") as premises,
        open_layers(seen_place(premises, settings)) as layers,
    ):
        keeping = asyncio.create_task(keeper_of(premises, settings).run())
        try:
            run = await queue_run(premises, site)
            await premises.store.set_state(run.id, "running")
            async with fleet_at_work(premises, settings) as ledger:
                assert (await over(premises, run)).counters.done == 9
            assert (ledger.counts["exact"].added, ledger.counts["lossy"].added) == (9, 0)
            await _check_told(premises, settings, run)
            assert layers.exact is not None
            assert layers.lossy is not None
            epoch = await premises.seen_rows.epoch()
            key = SeenKey("run", run.id, epoch)
            assert await layers.exact.keys() == await layers.lossy.keys() == [key]
            assert await checking.check(premises, settings, repair=False) == []
            await layers.exact.add(key, fingerprints(0, 1))
            (finding,) = await checking.check(premises, settings, repair=True)
            assert "1 of 10 looked at have no row" in finding.message
            assert await layers.exact.keys() == await layers.lossy.keys() == []
            await layers.exact.add(key, fingerprints(0, 1))
            await FreeKnown([layers.exact], premises.store, premises.seen_rows.epoch).do(TERM)
            assert await layers.exact.keys() == []
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
