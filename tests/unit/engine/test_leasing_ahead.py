"""Slots go on while the store takes its time, where the ledger is far."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.unit.engine.dictionary_site import HOST, Lines, Site
from tests.unit.engine.opener import JobOpener

from smartspider.core.errors import FrontierUnavailable, StoreUnavailable
from smartspider.core.frontier.lease import Lease, LeaseBatch
from smartspider.core.frontier.verdict import Settlement
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import HTTP_ONLY, Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.engine.answer_reader import AnswerReader
from smartspider.engine.context import WorkerContext, WorkerOptions
from smartspider.engine.in_flight import Job
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.outage import OutageRetry
from smartspider.engine.permits import GatePermit
from smartspider.engine.processor import Processor
from smartspider.engine.run_source import AllRuns
from smartspider.engine.runtime import LocalBus
from smartspider.engine.worker import Worker
from smartspider.installation.data_folder import DataFolder
from smartspider.interfaces.ledger import SettleReport
from smartspider_testing.waiting import WAIT_S

SLOTS = 4
ANY_S = 60.0
"""No settle is slower: whether the disk is busy is no part of these tests."""
PAGES = {"/": [f"/{number}" for number in range(24)]}


class Bench:
    """A worker whose ledger is slow or refuses, and whose frontier counts what it gave."""

    def __init__(self, folder: DataFolder, *, concurrency: int) -> None:
        self._folder = folder
        self.site = Site(PAGES)
        entry = make_request(HOST + "/", is_entry=True)
        polite = PolitenessPolicy(delay_s=0.0, per_host=64)
        scope = UrlScope(hosts=frozenset({entry.host}))
        self.plan = Plan(
            "task", b"{}", "hash", (entry,), {}, scope, politeness=polite, concurrency=concurrency
        )
        self.options = WorkerOptions(leases_ahead=True, refresh_s=0.0001, quick_s=ANY_S)
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.is_refusing = False
        self.is_away = False
        self.takes_s = 0.0
        self.settling = asyncio.Event()
        self.asked = 0
        self.held = self.most = 0

    async def lease(
        self,
        worker_id: int,
        want: int,
        runs: Sequence[int],
        own: bytes = b"",
        capabilities: frozenset[str] = HTTP_ONLY,
        *,
        ahead_s: float = 0.0,
    ) -> LeaseBatch:
        self.asked += 1
        if self.is_away:
            raise FrontierUnavailable("no Redis")
        batch = await self._folder.frontier.lease(worker_id, want, runs, own, capabilities, ahead_s=ahead_s)
        self.held += len(batch.leases)
        self.most = max(self.most, self.held)
        return batch

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        self.settling.set()
        await self.is_open.wait()
        await asyncio.sleep(self.takes_s)
        if self.is_refusing:
            raise StoreUnavailable("no room")
        report = await self._folder.ledger.settle(settlements)
        self.held -= len(settlements)
        return report

    def __getattr__(self, name: str) -> Any:
        return getattr(self._folder.frontier, name)

    def worker(self) -> Worker:
        folder, bus = self._folder, LocalBus()
        ledger: Any = self
        frontier: Any = self
        outage = OutageRetry(folder.clock, bus, is_enabled=True, longest_pause_s=0.02)
        context = WorkerContext(folder.store, frontier, ledger, folder.workers, folder.clock, bus, outage)

        @asynccontextmanager
        async def open_job(run: Run) -> AsyncIterator[Job]:
            links = LinkFilter(self.plan, lambda _: None)
            reader = AnswerReader(run.id, self.plan, Lines(), None, links, bus=bus)
            yield Job(self.plan, Processor(self.plan, self.site, reader, self._permit, folder.clock), links)

        source = AllRuns(folder.store, folder.clock, bus, lambda _: True)
        return Worker(
            context,
            source,
            JobOpener(open_job),
            WorkerRegistration("one", "box"),
            slots=SLOTS,
            options=self.options,
        )

    def _permit(self, lease: Lease) -> GatePermit:
        return GatePermit(self._folder.frontier, self._folder.clock, lease.request.host, lease.window)

    async def until_over(self) -> Run:
        async with asyncio.timeout(WAIT_S):
            while True:
                (run,) = await self._folder.store.find_runs()
                if run.finished_at is not None:
                    return run
                await asyncio.sleep(0.005)


@asynccontextmanager
async def working(bench: Bench, folder: DataFolder) -> AsyncIterator[None]:
    await folder.store.create_run(bench.plan)
    worker = bench.worker()
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        bench.is_open.set()
        worker.stop()
        await task


async def at_the_second_settle(bench: Bench) -> None:
    """The links of the entry are known; the pages behind them are in hand, and the store takes its time."""
    async with asyncio.timeout(WAIT_S):
        await bench.settling.wait()
        await bench.site.until(lambda: bench.site.fetched.total() > 1)
        bench.is_open.clear()
        bench.settling.clear()
        await bench.settling.wait()


async def test_slots_work_on_other_pages_while_theirs_are_stored(folder: DataFolder) -> None:
    bench = Bench(folder, concurrency=64)
    async with working(bench, folder):
        await at_the_second_settle(bench)
        assert SLOTS < bench.held <= 2 * SLOTS
        bench.is_open.set()
        run = await bench.until_over()
    assert (run.state, run.counters.done) == ("completed", 25)
    assert set(bench.site.fetched.values()) == {1}
    assert bench.most <= 2 * SLOTS


async def test_nothing_more_is_taken_while_the_store_refuses(folder: DataFolder) -> None:
    bench = Bench(folder, concurrency=64)
    async with working(bench, folder):
        await at_the_second_settle(bench)
        bench.is_refusing = True
        asked = bench.asked
        bench.is_open.set()
        for _ in range(3):
            bench.settling.clear()
            async with asyncio.timeout(WAIT_S):
                await bench.settling.wait()
        assert bench.asked == asked
        bench.is_refusing = False
        assert (await bench.until_over()).counters.done == 25
    assert bench.most <= 2 * SLOTS


async def test_what_is_finished_is_stored_though_no_more_can_be_had(folder: DataFolder) -> None:
    bench = Bench(folder, concurrency=64)
    async with working(bench, folder):
        await at_the_second_settle(bench)
        bench.is_away = True
        bench.is_open.set()
        async with asyncio.timeout(WAIT_S):
            while bench.held:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.005)
        bench.is_away = False
        assert (await bench.until_over()).counters.done == 25


async def test_a_run_that_gives_no_more_than_there_are_slots_is_not_asked_twice_each_time(
    folder: DataFolder,
) -> None:
    bench = Bench(folder, concurrency=SLOTS)
    bench.options = WorkerOptions(leases_ahead=True, refresh_s=60.0)
    async with working(bench, folder):
        async with asyncio.timeout(WAIT_S):
            await bench.site.until(lambda: bench.site.fetched.total() == 25)
        asked = bench.asked
    assert bench.most <= SLOTS
    assert asked <= 25 + 2


async def test_nothing_is_leased_ahead_of_a_slow_store(folder: DataFolder) -> None:
    """What is in hand stays bounded by the slots, however long the store takes."""
    bench = Bench(folder, concurrency=16)
    bench.options = WorkerOptions(leases_ahead=True, refresh_s=0.001, quick_s=0.01)
    bench.takes_s = 0.03
    async with working(bench, folder):
        run = await bench.until_over()
    assert run.counters.done == 25
    assert bench.most <= SLOTS
