"""A worker on a real data folder, with a site made of a dictionary."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
from tests.unit.engine.dictionary_site import HOST, Lines, Site
from tests.unit.engine.opener import JobOpener

from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.core.errors import ConnectionDropped, FetchFailed, StoreUnavailable
from smartspider.core.events import Event, FetchRetried, LeasesReturned, PageBuried, PageClosed
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.pages.page import Page
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan, RetryPolicy, RunLimits
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.engine.answer_reader import AnswerReader
from smartspider.engine.context import WorkerContext, WorkerOptions
from smartspider.engine.in_flight import Job
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.permits import GatePermit
from smartspider.engine.processor import Processor
from smartspider.engine.run_source import GivenRuns
from smartspider.engine.runtime import LocalBus, SystemClock
from smartspider.engine.worker import Worker
from smartspider.installation.data_folder import DataFolder
from smartspider.interfaces.fetcher import Exchange
from smartspider.interfaces.ledger import SettleReport
from smartspider_testing.backends.sqlite import KillableFrontier
from smartspider_testing.waiting import WAIT_S

TREE = {"/": ["/1", "/2"], "/1": ["/3", "/4", "/"], "/2": ["/4", "/5"], "/4": ["/6", "/6#x"]}
PAGES = {"/", "/1", "/2", "/3", "/4", "/5", "/6"}


class Book:
    """The ledger of the folder, watched."""

    def __init__(self, folder: DataFolder) -> None:
        self._ledger = folder.ledger
        self.groups: list[list[str]] = []
        self.wrote = asyncio.Event()

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        report = await self._ledger.settle(settlements)
        self.groups.append([settlement.lease.request.url for settlement in settlements])
        self.wrote.set()
        return report


class Crew:
    """One run, one worker, and what they did."""

    def __init__(self, folder: DataFolder, pages: dict[str, list[str]], *entries: str, **plan: Any) -> None:
        self.folder = folder
        self.site = Site(pages)
        self.book = Book(folder)
        self.events: list[Event] = []
        self.leases: dict[str, Lease] = {}
        self.options = WorkerOptions(refresh_s=0.01)
        urls = [entry if "//" in entry else HOST + entry for entry in entries or ("/",)]
        requests = tuple(make_request(url, is_entry=True) for url in urls)
        settings = {
            "politeness": PolitenessPolicy(delay_s=0.0, per_host=64),
            "retry": RetryPolicy(3, 0.0),
            **plan,
        }
        hosts = frozenset(request.host for request in requests)
        self.plan = Plan("task", b"{}", "hash", requests, {}, UrlScope(hosts=hosts), **settings)

    async def start(self, slots: int = 4) -> Run:
        run = await self.folder.store.create_run(self.plan)
        self.run = await self.folder.store.set_state(run.id, "running")
        bus = LocalBus()
        bus.subscribe(self.events.append)
        links = LinkFilter(self.plan, lambda _: None)
        reader = AnswerReader(run.id, self.plan, Lines(), None, links, bus=bus)
        processor = Processor(self.plan, self.site, reader, self._permit, self.folder.clock)
        folder = self.folder
        context = WorkerContext(folder.store, folder.frontier, self.book, folder.workers, folder.clock, bus)

        @asynccontextmanager
        async def open_job(_run: Run) -> AsyncIterator[Job]:
            yield Job(self.plan, processor, links)

        source = GivenRuns(folder.store, [run.id])
        self.worker = Worker(
            context, source, JobOpener(open_job), WorkerRegistration("one"), slots=slots, options=self.options
        )
        return self.run

    def _permit(self, lease: Lease) -> GatePermit:
        self.leases[lease.request.url.removeprefix(HOST)] = lease
        return GatePermit(self.folder.frontier, self.folder.clock, lease.request.host, lease.window)

    async def work(self, slots: int = 4) -> Run:
        await self.start(slots)
        return await self.finish()

    async def finish(self) -> Run:
        """The run as it stands when the worker has left it."""
        await self.worker.run()
        return await self.folder.store.finish(self.run.id)

    async def items(self) -> int:
        return sum([len(batch) async for batch in self.folder.store.items(self.run.id)])


async def test_a_small_site_is_crawled_once_and_completely(folder: DataFolder) -> None:
    crew = Crew(folder, TREE)
    run = await crew.work()
    assert (run.state, run.reason, run.in_flight) == ("completed", "", 0)
    assert crew.site.fetched == Counter(PAGES)
    assert (run.counters.done, run.counters.total, run.counters.open) == (7, 7, 0)
    assert await crew.items() == 7
    assert run.counters.duplicate_urls == 3
    closed = [event for event in crew.events if isinstance(event, PageClosed)]
    assert {event.url.removeprefix(HOST) for event in closed} == PAGES
    assert all((event.run_id, event.state, event.items) == (run.id, "done", 1) for event in closed)
    assert await folder.store.fsck() == []


async def test_pages_are_settled_in_groups(folder: DataFolder) -> None:
    crew = Crew(folder, {"/": [f"/{number}" for number in range(100)]})
    run = await crew.work(slots=20)
    assert run.counters.done == 101
    assert len(crew.book.groups) <= 20
    assert max(map(len, crew.book.groups)) >= 10


async def test_a_page_waits_a_moment_for_others_while_most_slots_are_busy(folder: DataFolder) -> None:
    paths = [f"/{number}" for number in range(10)]
    crew = Crew(folder, {}, *paths)
    crew.options = WorkerOptions(refresh_s=0.01, settle_s=30.0)
    crew.site.close(*paths)
    await crew.start(slots=10)
    working = asyncio.create_task(crew.finish())
    await crew.site.until(lambda: len(crew.site.fetched) == 10)
    for path in paths[:5]:
        assert crew.book.groups == []
        crew.site.doors[path].set()
        for _ in range(10):
            await asyncio.sleep(0)
    await crew.book.wrote.wait()
    assert [len(group) for group in crew.book.groups] == [5]
    for path in paths[5:]:
        crew.site.doors[path].set()
    assert (await working).counters.done == 10


async def test_a_worker_has_no_more_in_flight_than_it_has_slots(folder: DataFolder) -> None:
    crew = Crew(folder, {}, *(f"/{number}" for number in range(9)))
    crew.site.close(*(f"/{number}" for number in range(9)))
    await crew.start(slots=3)
    working = asyncio.create_task(crew.finish())
    await crew.site.until(lambda: len(crew.site.fetched) == 3)
    crew.site.doors["/0"].set()
    await crew.site.until(lambda: len(crew.site.fetched) == 4)
    assert (await folder.store.get_run(crew.run.id)).in_flight == 3
    for door in crew.site.doors.values():
        door.set()
    assert (await working).counters.done == 9


async def test_stopping_finishes_what_is_in_flight_and_takes_no_more(folder: DataFolder) -> None:
    crew = Crew(folder, {}, "/a", "/b", "/c", "/d")
    crew.site.close("/a", "/b", "/c", "/d")
    await crew.start(slots=2)
    working = asyncio.create_task(crew.finish())
    await crew.site.until(lambda: len(crew.site.fetched) == 2)
    crew.worker.stop()
    for door in crew.site.doors.values():
        door.set()
    run = await working
    assert (run.state, run.counters.done, run.counters.open, run.in_flight) == ("running", 2, 2, 0)
    assert len(crew.site.fetched) == 2


async def test_a_fetch_that_hangs_is_given_back_when_the_worker_stops(folder: DataFolder) -> None:
    crew = Crew(folder, {}, "/hangs")
    crew.options = WorkerOptions(refresh_s=0.01, drain_s=0.02)
    crew.site.close("/hangs")
    await crew.start()
    working = asyncio.create_task(crew.finish())
    await crew.site.until(lambda: bool(crew.site.fetched))
    crew.worker.stop()
    run = await working
    assert (run.state, run.counters.open, run.in_flight, run.counters.retries) == ("running", 1, 0, 0)
    (record,) = await folder.store.find_urls(make_request(f"{HOST}/hangs").fingerprint, run.id)
    assert (record.place, record.attempts, record.returns) == ("queued", 0, 0)
    assert asyncio.all_tasks() == {asyncio.current_task()}, "the fetch goes on"


async def test_leases_nobody_began_are_given_back_at_once(folder: DataFolder) -> None:
    crew = Crew(folder, {}, "/a", "/b")
    await crew.start(slots=2)
    crew.worker.stop()
    run = await crew.finish()
    assert (run.counters.open, run.in_flight) == (2, 0)
    assert not crew.site.fetched


async def test_a_run_paused_from_outside_keeps_what_was_in_flight(folder: DataFolder) -> None:
    crew = Crew(folder, {}, "/a", "/b")
    crew.site.close("/a", "/b")
    await crew.start(slots=1)
    working = asyncio.create_task(crew.finish())
    await crew.site.until(lambda: bool(crew.site.fetched))
    await folder.store.set_state(crew.run.id, "paused", "by hand")
    for door in crew.site.doors.values():
        door.set()
    run = await working
    assert (run.state, run.reason, run.counters.done, run.counters.open) == ("paused", "by hand", 1, 1)


async def test_a_cancelled_run_is_left_without_waiting_for_what_can_not_be_stored(folder: DataFolder) -> None:
    crew = Crew(folder, {}, "/hangs")
    crew.site.close("/hangs")
    await crew.start()
    working = asyncio.create_task(crew.finish())
    await crew.site.until(lambda: bool(crew.site.fetched))
    await folder.store.set_state(crew.run.id, "cancelled", "by hand")
    async with asyncio.timeout(WAIT_S):
        run = await working
    assert (run.state, run.in_flight, run.counters.done) == ("cancelled", 0, 0)


async def test_a_limit_ends_the_run_exactly(folder: DataFolder) -> None:
    wide = {"/": [f"/{number}" for number in range(30)]}
    crew = Crew(folder, wide, limits=RunLimits(max_pages=5))
    run = await crew.work()
    assert (run.state, run.reason) == ("completed", "limit: max_pages 5 reached")
    assert (run.counters.done, run.counters.items, run.counters.open) == (5, 5, 0)
    assert await folder.store.fsck() == []


async def test_no_slot_waits_for_a_closed_gate(folder: DataFolder) -> None:
    held = [f"http://held.example/{number}" for number in range(5)]
    crew = Crew(folder, {}, *held, "/1", "/2", "/3", "/4")
    await crew.start(slots=2)
    await folder.frontier.hold_host("held.example", 3_600.0, "asked to")
    working = asyncio.create_task(crew.finish())
    await crew.site.until(lambda: len(crew.site.fetched) == 4)
    crew.worker.stop()
    run = await working
    assert crew.site.fetched == Counter(["/1", "/2", "/3", "/4"])
    assert (run.counters.done, run.counters.open, run.in_flight) == (4, 5, 0)


async def test_a_failure_that_passes_is_tried_again(folder: DataFolder) -> None:
    crew = Crew(folder, {"/": ["/a"]})
    crew.site.errors["/a"] = [ConnectionDropped("gone"), ConnectionDropped("gone")]
    run = await crew.work()
    assert (run.state, run.counters.done, run.counters.retries, run.counters.failed) == ("completed", 2, 2, 0)
    retried = [event for event in crew.events if isinstance(event, FetchRetried)]
    assert [(event.attempts, event.reason) for event in retried] == [
        (1, "dropped: gone"),
        (2, "dropped: gone"),
    ]


@pytest.mark.parametrize(
    "error", [FetchFailed("cannot be written"), RuntimeError("a defect"), ConnectionDropped("gone")]
)
async def test_no_failure_of_a_page_stalls_the_worker(folder: DataFolder, error: Exception) -> None:
    crew = Crew(folder, {"/": ["/bad", "/good"]})
    crew.site.errors["/bad"] = [error] * 3
    async with asyncio.timeout(WAIT_S):
        run = await crew.work(slots=1)
    assert (run.state, run.counters.done, run.counters.failed) == ("completed", 2, 1)
    (buried,) = [event for event in crew.events if isinstance(event, PageBuried)]
    assert str(error) in buried.reason


async def test_a_store_that_is_away_ends_the_worker_and_gives_everything_back(folder: DataFolder) -> None:
    crew = Crew(folder, {}, "/a", "/b")
    crew.site.errors["/a"] = [StoreUnavailable("disk full")]
    crew.site.close("/b")
    with pytest.raises(StoreUnavailable, match="disk full"):
        await crew.work(slots=2)
    run = await folder.store.get_run(crew.run.id)
    assert (run.state, run.counters.open, run.in_flight) == ("running", 2, 0)


async def test_what_a_dead_worker_held_is_taken_back_and_told(folder: DataFolder) -> None:
    crew = Crew(folder, {}, "/a", "/b")
    await crew.start()
    with closing(SqliteDatabase(folder.path, SystemClock())) as database:
        elsewhere = KillableFrontier(database)
        gone = await elsewhere.join(WorkerRegistration("gone"))
        await elsewhere.lease(gone, 2, [crew.run.id])
        elsewhere.lose(gone)
    run = await crew.finish()
    assert (run.state, run.counters.done, run.counters.returns) == ("completed", 2, 2)
    assert LeasesReturned(run.id, 2, "gone") in crew.events


async def test_links_of_a_page_that_came_too_late_are_not_taken_for_known(folder: DataFolder) -> None:
    crew = Crew(folder, {"/a": ["/x"], "/b": ["/x"]}, "/a", "/b")
    crew.site.close("/a", "/b")
    await crew.start(slots=2)
    working = asyncio.create_task(crew.finish())
    await crew.site.until(lambda: len(crew.site.fetched) == 2)
    await folder.ledger.settle([Settlement(crew.leases["/a"], Close("done", status=200))])
    crew.site.doors["/a"].set()
    await crew.book.wrote.wait()
    assert crew.book.groups == [[f"{HOST}/a"]]
    crew.site.doors["/b"].set()
    run = await working
    assert crew.site.fetched["/x"] == 1
    assert (run.counters.done, run.counters.late) == (3, 1)


async def test_where_an_entry_is_redirected_to_belongs_to_the_run(folder: DataFolder) -> None:
    moved = Page(f"{HOST}/", 301, {"location": "http://www.h.example/"}, b"", "utf-8", 0.0)
    crew = Crew(folder, {"http://www.h.example/": ["/a", "http://o.example/"]})
    answer = crew.site.fetch

    async def fetch(exchange: Exchange) -> Page:
        page = await answer(exchange)
        return moved if exchange.request.url == f"{HOST}/" else page

    crew.site.fetch = fetch  # type: ignore[method-assign] # one page of this site redirects
    run = await crew.work()
    assert set(crew.site.fetched) == {"/", "http://www.h.example/", "http://www.h.example/a"}
    assert (run.counters.redirect, run.counters.done) == (1, 2)
