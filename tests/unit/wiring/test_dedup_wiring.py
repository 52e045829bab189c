"""URL filters as an installation uses them: workers, keeper, `fsck` and settings."""

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

from smartspider.backends.sqlite.dedup import FOLDER, FolderBloomFilter
from smartspider.cli.runs import rendering
from smartspider.core.errors import SettingInvalid
from smartspider.core.requests.request import fingerprint
from smartspider.core.runs.run import Run
from smartspider.dedup.ledger import DedupLedger
from smartspider.dedup.memory import RecentSet
from smartspider.dedup.url_filter import FilterKey
from smartspider.engine.context import WorkerOptions
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.outage import OutageRetry
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings, read_settings
from smartspider.interfaces.leadership import Term
from smartspider.keeper.retention import FreeUrlFilters
from smartspider.services.metrics import gather_metrics
from smartspider.services.plans import run_plan
from smartspider.services.runs import runs as run_service
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring.checks import check_cluster, check_consistency
from smartspider.wiring.crawl_run import crawl_run
from smartspider.wiring.dedup import filter_location, open_dedup, open_filters
from smartspider.wiring.deletion import remove_run
from smartspider.wiring.opening import open_folder, open_installation
from smartspider.wiring.processes.keeper_process import build_keeper
from smartspider.wiring.worker import JobFactory, build_bus, fleet_worker
from smartspider_testing.backends.memory_url_filter import MemoryUrlFilter
from smartspider_testing.contracts.url_filter import fingerprints
from smartspider_testing.servers import RedisServer
from smartspider_testing.sites.scripted import ScriptableSite
from smartspider_testing.waiting import WAIT_S

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


async def queue_run(installation: Installation, site: ScriptableSite, **more: Any) -> Run:
    task = {
        "name": "links",
        "entry_urls": [site.url("/")],
        "selectors": {"fields": {"url": {"type": "meta", "expr": "url"}}},
        "follow": [{"selector": "a"}],
        "politeness": {"delay_s": 0, "robots": "ignore"},
        **more,
    }
    return await installation.store.create_run(compile_task(parse_task(task)))


def opened(folder: DataFolder) -> DataFolder:
    """The folder of a server that may reach this machine."""
    return msgspec.structs.replace(folder, settings=Settings(allow_private="1"))


async def crawled(folder: DataFolder, run: Run, *, workers: int = 1) -> Run:
    return await crawl_run(folder, run, run_plan(run), workers=workers, on_ready=lambda _stop: None)


@asynccontextmanager
async def fleet_at_work(installation: Installation) -> AsyncIterator[DedupLedger]:
    bus = build_bus()
    async with open_dedup(installation, bus) as dedup:
        outage = OutageRetry(installation.clock, bus, is_enabled=installation.is_cluster)
        factory = JobFactory(installation, bus, outage=outage, dedup=dedup)
        worker = fleet_worker(
            factory, number=0, slots=4, options=WorkerOptions(reclaims=not installation.is_cluster)
        )
        working = asyncio.create_task(worker.run())
        assert dedup.ledger is not None
        try:
            yield dedup.ledger
        finally:
            worker.stop()
            await working


async def over(installation: Installation, run: Run) -> Run:
    async with asyncio.timeout(WAIT_S):
        while (await installation.store.get_run(run.id)).finished_at is None:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)
    return await installation.store.get_run(run.id)


def read(folder: Path, **environment: str) -> Settings:
    return read_settings({f"SMARTSPIDER_{name}": value for name, value in environment.items()}, folder)


def test_nothing_is_shared_unless_a_cluster_is_told_to(tmp_path: Path) -> None:
    assert (read(tmp_path).dedup, read(tmp_path).dedup_memory) == ("off", 256_000_000)
    assert read(tmp_path, **CLUSTER, DEDUP="exact").dedup == "exact"
    with pytest.raises(
        SettingInvalid, match="SMARTSPIDER_DEDUP is 'exact', but only the workers of a cluster"
    ):
        read(tmp_path, DEDUP="exact")
    with pytest.raises(SettingInvalid, match="SMARTSPIDER_DEDUP is 'bloom'"):
        read(tmp_path, **CLUSTER, DEDUP="bloom")


@pytest.mark.parametrize(
    ("text", "size"), [("1MB", 10**6), (" 2 gb ", 2 * 10**9), ("0MB", 0), ("5", 0), ("1TB", 0), ("-1MB", 0)]
)
def test_the_budget_of_a_filter_is_a_size(tmp_path: Path, text: str, size: int) -> None:
    if size:
        assert read(tmp_path, DEDUP_MEMORY=text).dedup_memory == size
    else:
        with pytest.raises(SettingInvalid, match="SMARTSPIDER_DEDUP_MEMORY is"):
            read(tmp_path, DEDUP_MEMORY=text)


async def test_a_plain_crawl_has_nothing_in_front_of_its_store(
    folder: DataFolder, site: ScriptableSite
) -> None:
    ended = await crawled(folder, await queue_run(folder, site))
    assert (ended.state, ended.counters.done) == ("completed", 9)
    assert JobFactory(folder, build_bus()).context.ledger is folder.ledger
    assert not (folder.path / FOLDER).exists()


def test_workers_of_a_data_folder_import_no_redis() -> None:
    code = """
import sys
import smartspider.wiring.processes.worker_process, smartspider.wiring.checks
import smartspider.cli.crawl.crawl_task
sys.exit(" ".join({"redis", "psycopg"} & set(sys.modules)) or 0)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_crawl_by_filter_gives_the_same_pages_and_leaves_no_filter(
    folder: DataFolder, site: ScriptableSite, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    added_counts: list[int] = []
    add = FolderBloomFilter.add

    async def noting(self: FolderBloomFilter, key: FilterKey, given: Any, *, day: int = 0) -> Any:
        added = await add(self, key, given, day=day)
        added_counts.append(added.new)
        return added

    monkeypatch.setattr(FolderBloomFilter, "add", noting)  # when the crawl has ended the filter is gone
    ended = await crawled(folder, await queue_run(folder, site, dedup={"urls": "bloom"}), workers=workers)
    assert (ended.state, ended.counters.done, ended.counters.items) == ("completed", 9, 9)
    assert len(site.requests()) == 9
    assert workers > 1 or sum(added_counts) == 9
    assert (folder.path / FOLDER).exists()
    assert list((folder.path / FOLDER).iterdir()) == []


async def test_what_the_filter_calls_known_is_not_fetched(folder: DataFolder, site: ScriptableSite) -> None:
    """The price that a task pays by name: here the filter knows a page that nobody stored."""
    for urls, pages in (("bloom", 8), ("exact", 9)):
        run = await queue_run(folder, site, name=urls, dedup={"urls": urls})
        async with open_filters(filter_location(folder)) as layers:
            assert layers.lossy is not None
            await layers.lossy.add(FilterKey("run", run.id), [fingerprint(site.url(PAGES[3]))])
        assert (await crawled(folder, run)).counters.done == pages


async def test_workers_of_a_server_filter_only_runs_that_ask_for_it(
    folder: DataFolder, site: ScriptableSite
) -> None:
    async with fleet_at_work(opened(folder)) as ledger:
        await over(folder, await queue_run(folder, site))
        assert (ledger.counts["lossy"].added, ledger.counts["local"].misses) == (0, 0)
        run = await over(folder, await queue_run(folder, site, name="other", dedup={"urls": "bloom"}))
        assert (run.counters.done, ledger.counts["lossy"].added) == (9, 9)


async def test_a_filter_that_knows_more_than_the_store_is_forgotten(
    folder: DataFolder, site: ScriptableSite
) -> None:
    """The database was made anew or is an older copy, and what is known of a run is of another one."""
    run, location = await queue_run(folder, site), filter_location(folder)
    key, given = FilterKey("run", run.id), fingerprints(0, 5)
    older = FolderBloomFilter(folder.path)
    await older.add(key, given[:1])
    async with open_filters(location) as layers:
        assert layers.lossy is not None
        assert await layers.lossy.find_known(key, given) == set(given[:1]), "the entry has a row"
    await older.add(key, given)
    async with open_filters(location) as layers:
        assert layers.lossy is not None
        assert await layers.lossy.find_known(key, given) == set()
    older.close()


async def test_a_run_that_is_deleted_takes_its_filter_with_it(
    folder: DataFolder, site: ScriptableSite
) -> None:
    run = await queue_run(folder, site)
    bloom = FolderBloomFilter(folder.path)
    await bloom.add(FilterKey("run", run.id), fingerprints(0, 1))
    await folder.store.set_state(run.id, "cancelled")
    await remove_run(folder, run.id, actor="tests")
    assert await bloom.keys() == []
    bloom.close()


async def test_the_keeper_frees_what_is_known_of_runs_that_are_over(
    folder: DataFolder, site: ScriptableSite
) -> None:
    states = ("running", "paused", "cancelled")
    runs = [await queue_run(folder, site, name=state) for state in ("queued", *states)]
    for run, state in zip(runs[1:], states, strict=True):
        await folder.store.set_state(run.id, state)  # type: ignore[arg-type]
    layer = MemoryUrlFilter()
    for run_id in [*(run.id for run in runs), 999]:
        await layer.add(FilterKey("run", run_id), fingerprints(0, 1))
    await FreeUrlFilters([layer], folder.store, None).do(TERM)
    assert {key.id for key in await layer.keys()} == {run.id for run in runs[:3]}
    await layer.add(FilterKey("run", runs[0].id, "another"), fingerprints(0, 1))

    async def epoch() -> str:
        return "another"

    await FreeUrlFilters([layer], folder.store, epoch).do(TERM)
    assert await layer.keys() == [FilterKey("run", runs[0].id, "another")]


async def test_mending_a_data_folder_drops_its_filters(folder: DataFolder) -> None:
    bloom = FolderBloomFilter(folder.path)
    await bloom.add(FilterKey("run", 1), fingerprints(0, 1))
    assert await check_consistency(folder, repair=False) == []
    assert len(await bloom.keys()) == 1
    assert await check_consistency(folder, repair=True) == []
    assert await bloom.keys() == []
    bloom.close()


async def _check_estimates(installation: Installation, settings: Settings, run: Run) -> None:
    """Status, metrics and doctor estimate the distinct URLs and report the memory of the filters."""
    status = await run_service.get_status(installation, run.id)
    assert (status.distinct_estimate, status.task_distinct_estimate, status.distinct_error) == (9, 9, 0.0081)
    metrics = await run_service.get_metrics(installation, run.id)
    assert metrics.distinct_estimate == 9
    shown = rendering.run_lines(metrics, await run_service.get_receipt(installation, run.id))
    assert "  distinct URLs   about 9 (± 0.8 %), 9 of all runs" in shown
    families = {family.name: family.values for family in (await gather_metrics(installation))[0]}
    exact = (("layer", "exact"),)
    assert families["smartspider_known_urls_bytes"][exact] == 9 * 25
    assert families["smartspider_known_urls_budget_bytes"][exact] == 256_000_000
    checks, _ = await check_cluster(settings)
    found = {check.what: check for check in checks}["known URLs, exact"]
    assert (found.is_ok, found.detail.partition(",")[0]) == (True, "0.0 of 256 MB (0 %)")


class Histories:
    """A store whose history is set by the test."""

    def __init__(self) -> None:
        self.now = "first"

    async def epoch(self) -> str:
        return self.now


async def test_what_a_worker_remembers_ends_with_the_history_of_a_database(
    folder: DataFolder, site: ScriptableSite
) -> None:
    """Also where nothing is shared: a standby that took over may lack rows that the worker saw committed."""
    run = await queue_run(folder, site)
    settings = Settings(store_url="postgresql://db/x", frontier_url="redis://cache", dedup="off")
    cluster = msgspec.structs.replace(
        folder, settings=settings, remote_frontier=object(), stored_urls=(history := Histories())
    )
    remembered: RecentSet[bytes] = RecentSet()
    remembered.add(b"a child")
    plan = run_plan(run)
    async with open_dedup(cluster, build_bus()) as dedup:
        assert dedup.ledger is not None
        with dedup.deduplicating(run, plan, LinkFilter(plan, lambda _: True, remembered)):
            await dedup.ledger.settle([])
            assert len(remembered) == 1
            history.now = "second"
            await dedup.ledger.settle([])
    assert len(remembered) == 0


async def test_workers_of_a_cluster_share_what_they_stored_and_fsck_compares_it(
    empty_store: str, empty_redis: RedisServer, site: ScriptableSite, tmp_path: Path
) -> None:
    settings = Settings(
        store_url=empty_store,
        frontier_url=empty_redis.url,
        master_key="the same on all machines",
        allow_private="1",
        dedup="exact",
    )
    async with (
        open_installation(tmp_path, settings, "worker") as installation,
        open_filters(filter_location(installation)) as layers,
    ):
        keeping = asyncio.create_task(build_keeper(installation).run())
        try:
            run = await queue_run(installation, site)
            await installation.store.set_state(run.id, "running")
            async with fleet_at_work(installation) as ledger:
                assert (await over(installation, run)).counters.done == 9
            assert (ledger.counts["exact"].added, ledger.counts["lossy"].added) == (9, 0)
            await _check_estimates(installation, settings, run)
            assert layers.exact is not None
            assert layers.lossy is not None
            epoch = await installation.stored_urls.epoch()
            key = FilterKey("run", run.id, epoch)
            assert await layers.exact.keys() == [key]
            await layers.lossy.add(key, fingerprints(0, 1))
            assert await check_consistency(installation, repair=False) == []
            await layers.exact.add(key, fingerprints(0, 1))
            (finding,) = await check_consistency(installation, repair=True)
            assert "1 of 10 checked" in finding.message
            assert await layers.exact.keys() == await layers.lossy.keys() == []
            await layers.exact.add(key, fingerprints(0, 1))
            await FreeUrlFilters([layers.exact], installation.store, installation.stored_urls.epoch).do(TERM)
            assert await layers.exact.keys() == []
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
