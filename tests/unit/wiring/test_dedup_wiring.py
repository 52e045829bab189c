"""URL filters as an installation uses them: workers, keeper, `fsck` and settings."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smartspider.cli.runs import rendering
from smartspider.core.errors import SettingInvalid
from smartspider.core.requests.request import fingerprint
from smartspider.core.runs.run import Run
from smartspider.dedup.ledger import DedupLedger
from smartspider.dedup.memory import RecentSet
from smartspider.dedup.url_filter import FilterKey, FilterStack
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
from smartspider.wiring.dedup import process_dedup
from smartspider.wiring.opening import open_installation
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


async def crawled(folder: DataFolder, run: Run, *, workers: int = 1) -> Run:
    return await crawl_run(folder, run, run_plan(run), workers=workers, on_ready=lambda _stop: None)


@asynccontextmanager
async def fleet_at_work(installation: Installation) -> AsyncIterator[DedupLedger]:
    bus = build_bus()
    dedup, outage = process_dedup(installation, bus), OutageRetry(installation.clock, bus, is_enabled=True)
    factory = JobFactory(installation, bus, outage=outage, dedup=dedup)
    worker = fleet_worker(factory, number=0, slots=4, options=WorkerOptions(reclaims=False))
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


def test_workers_of_a_data_folder_import_no_redis() -> None:
    code = """
import sys
import smartspider.wiring.processes.worker_process, smartspider.wiring.checks
import smartspider.cli.crawl.crawl_task
sys.exit(" ".join({"redis", "psycopg"} & set(sys.modules)) or 0)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_data_folder_asks_its_store_whatever_filter_a_task_names(
    folder: DataFolder, site: ScriptableSite
) -> None:
    ended = await crawled(folder, await queue_run(folder, site, dedup={"urls": "bloom"}))
    assert (ended.state, ended.counters.done, ended.counters.items) == ("completed", 9, 9)
    assert len(site.requests()) == 9
    assert process_dedup(folder, build_bus()).ledger is None


async def test_the_keeper_frees_what_is_known_of_runs_that_are_over(
    folder: DataFolder, site: ScriptableSite
) -> None:
    states = ("running", "paused", "cancelled")
    runs = [await queue_run(folder, site, name=state) for state in ("queued", *states)]
    for run, state in zip(runs[1:], states, strict=True):
        await folder.store.set_state(run.id, state)  # type: ignore[arg-type]
    layer = MemoryUrlFilter()
    for run_id in [*(run.id for run in runs), 999]:
        await layer.add(FilterKey("run", run_id, "first"), fingerprints(0, 1))
    history = Histories()
    await FreeUrlFilters([layer], folder.store, history.epoch).do(TERM)
    assert {key.id for key in await layer.keys()} == {run.id for run in runs[:3]}
    await layer.add(FilterKey("run", runs[0].id, "another"), fingerprints(0, 1))
    history.now = "another"
    await FreeUrlFilters([layer], folder.store, history.epoch).do(TERM)
    assert await layer.keys() == [FilterKey("run", runs[0].id, "another")]


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
    dedup = process_dedup(cluster, build_bus())
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
    async with open_installation(tmp_path, settings, "worker") as installation:
        layers = installation.filters
        # A keeper that frees no filter: the filters of the run are looked at when it is over.
        keeper = build_keeper(msgspec.structs.replace(installation, filters=FilterStack()))
        keeping = asyncio.create_task(keeper.run())
        try:
            run = await queue_run(installation, site)
            await installation.store.set_state(run.id, "running")
            async with fleet_at_work(installation) as ledger:
                assert (await over(installation, run)).counters.done == 9
                assert (ledger.counts["exact"].added, ledger.counts["lossy"].added) == (9, 0)
                named = await queue_run(installation, site, name="named", dedup={"urls": "bloom"})
                assert layers.lossy is not None
                named_key = FilterKey("run", named.id, await installation.stored_urls.epoch())
                # The price that a task pays by name: here the filter knows a page that nobody stored.
                await layers.lossy.add(named_key, [fingerprint(site.url(PAGES[3]))])
                await installation.store.set_state(named.id, "running")
                assert (await over(installation, named)).counters.done == 8
                assert ledger.counts["lossy"].added == 8
            await _check_estimates(installation, settings, run)
            assert layers.exact is not None
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
