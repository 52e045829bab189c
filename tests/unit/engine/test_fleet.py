"""A worker of a server: it works on whatever there is, on a real data folder with sites of dictionaries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.unit.engine.dictionary_site import HOST, Lines, Site
from tests.unit.engine.opener import JobOpener

from smartspider.backends.sqlite.database import FILE
from smartspider.core.errors import NotBuilt
from smartspider.core.events import Event, RunEnded, RunStarted
from smartspider.core.frontier.lease import Lease
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan, RetryPolicy, RunLimits
from smartspider.core.runs.run import Run
from smartspider.core.runs.tuning import LimitTuning, Tuning
from smartspider.core.workers import activity
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.engine.answer_reader import AnswerReader
from smartspider.engine.context import WorkerContext, WorkerOptions
from smartspider.engine.in_flight import Job
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.permits import GatePermit
from smartspider.engine.processor import Processor
from smartspider.engine.run_source import AllRuns, GivenRuns
from smartspider.engine.runtime import LocalBus
from smartspider.engine.worker import Worker
from smartspider.installation.data_folder import DataFolder
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport
from smartspider.services.plans import with_tuning
from smartspider.wiring.opening import open_folder
from smartspider_testing.waiting import WAIT_S

WIDE = {"/": [f"/{number}" for number in range(20)]}


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again, because what is waited for happens in the store."""
    async with asyncio.timeout(WAIT_S):
        while not await is_so():  # noqa: ASYNC110 - nobody tells when another task has written
            await asyncio.sleep(0.005)


QUICK = WorkerOptions(refresh_s=0.01, beat_s=0.02, reclaim_s=0.02, free_after_s=0.0)


class Fleet:
    """Runs over sites of their own, one worker for all of them, and what happened."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        self.events: list[Event] = []
        self.sites: dict[int, Site] = {}
        self.opened: list[tuple[int, int]] = []
        self.closed: list[tuple[int, int]] = []
        self.broken: dict[int, Exception] = {}
        self.taken: set[int] = set()
        self.owners: dict[int, str] = {}
        self._plans: dict[int, Plan] = {}
        self._bus = LocalBus()
        self._bus.subscribe(self.events.append)

    async def add(self, pages: dict[str, list[str]], *entries: str, host: str = HOST, **plan: Any) -> Run:
        """A queued run."""
        requests = tuple(make_request(host + entry, is_entry=True) for entry in entries or ("/",))
        settings = {
            "politeness": PolitenessPolicy(delay_s=0.0, per_host=64),
            "retry": RetryPolicy(3, 0.0),
            **plan,
        }
        scope = UrlScope(hosts=frozenset({requests[0].host}))
        made = Plan(f"task{len(self.sites)}", b"{}", "hash", requests, {}, scope, **settings)
        run = await self.folder.store.create_run(made)
        self._plans[run.id] = made
        self.sites[run.id] = Site(pages, host)
        return run

    @asynccontextmanager
    async def open_job(self, run: Run) -> AsyncIterator[Job]:
        """What the wiring does, without a network."""
        if run.id in self.broken:
            raise self.broken[run.id]
        self.opened.append((run.id, run.revision))
        plan = with_tuning(self._plans[run.id], run)
        links = LinkFilter(plan, lambda _: None)
        reader = AnswerReader(run.id, plan, Lines(), None, links, bus=self._bus)
        yield Job(plan, Processor(plan, self.sites[run.id], reader, self._permit, self.folder.clock), links)
        self.closed.append((run.id, run.revision))

    def _permit(self, lease: Lease) -> GatePermit:
        return GatePermit(self.folder.frontier, self.folder.clock, lease.request.host, lease.window)

    def worker(self, name: str = "one", slots: int = 8) -> Worker:
        """A worker of the fleet."""
        source = AllRuns(
            self.folder.store,
            self.folder.clock,
            self._bus,
            lambda run_id: run_id not in self.taken,
            finish_s=0.02,
        )
        registration = WorkerRegistration(name, "box")
        return Worker(
            self._context(),
            source,
            JobOpener(self.open_job, self.owners),
            registration,
            slots=slots,
            options=QUICK,
        )

    def crawler(self, *runs: Run) -> Worker:
        """A worker of a command."""
        source = GivenRuns(self.folder.store, [run.id for run in runs])
        return Worker(
            self._context(), source, JobOpener(self.open_job), WorkerRegistration("crawler"), options=QUICK
        )

    def _context(self) -> WorkerContext:
        folder = self.folder
        return WorkerContext(
            folder.store, folder.frontier, folder.ledger, folder.workers, folder.clock, self._bus
        )

    async def until(self, run: Run, is_so: Callable[[Run], bool]) -> Run:
        """The run as soon as it is so."""
        now = run

        async def look() -> bool:
            nonlocal now
            now = await self.folder.store.get_run(run.id)
            return is_so(now)

        await until(look)
        return now

    async def has_closed(self) -> bool:
        """Whether a job was closed."""
        return bool(self.closed)

    async def has_beaten(self) -> bool:
        """Whether a worker has told how it does."""
        return any(record.memory for record in await self.folder.workers.find())

    async def until_over(self, run: Run) -> Run:
        """The run when it has ended."""
        return await self.until(run, lambda now: now.finished_at is not None)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with open_folder(tmp_path / "data") as folder:
        yield Fleet(folder)


@asynccontextmanager
async def working(*workers: Worker) -> AsyncIterator[None]:
    """Workers at work until the end of the block, then asked to leave."""
    tasks = [asyncio.create_task(worker.run()) for worker in workers]
    try:
        yield
    finally:
        for worker in workers:
            worker.stop()
        await asyncio.gather(*tasks)


async def test_queued_runs_are_taken_up_and_worked_on_side_by_side(fleet: Fleet) -> None:
    runs = [await fleet.add(WIDE) for _ in range(3)]
    async with working(fleet.worker()):
        ended = [await fleet.until_over(run) for run in runs]
        late = await fleet.add(WIDE)
        ended.append(await fleet.until_over(late))
    assert [(run.state, run.counters.done) for run in ended] == [("completed", 21)] * 4
    assert all(set(site.fetched.values()) == {1} for site in fleet.sites.values())
    assert [event for event in fleet.events if isinstance(event, RunStarted)] == [
        RunStarted(run.id, run.task_name, is_resumed=False) for run in [*runs, late]
    ]
    assert {event.run_id for event in fleet.events if isinstance(event, RunEnded)} == {
        run.id for run in ended
    }
    entries = await fleet.folder.audit.entries()
    assert {entry.actor for entry in entries if entry.action == "run.state"} == {"system"}


async def test_runs_are_shared_by_several_workers_and_nothing_is_fetched_twice(fleet: Fleet) -> None:
    runs = [await fleet.add(WIDE) for _ in range(4)]
    async with working(fleet.worker("one", 3), fleet.worker("two", 3)):
        for run in runs:
            assert (await fleet.until_over(run)).counters.done == 21
    assert all(set(site.fetched.values()) == {1} for site in fleet.sites.values())
    assert await fleet.folder.store.fsck() == []


async def test_one_run_with_slow_pages_does_not_take_all_places(fleet: Fleet) -> None:
    paths = [f"/{number}" for number in range(20)]
    slow, quick = await fleet.add({}, *paths, host="http://slow.example"), await fleet.add(WIDE)
    fleet.sites[slow.id].close(*paths)
    async with working(fleet.worker(slots=4)):
        assert (await fleet.until_over(quick)).counters.done == 21
        for door in fleet.sites[slow.id].doors.values():
            door.set()
        assert (await fleet.until_over(slow)).counters.done == 20


async def test_what_waits_takes_no_slot_and_is_limited_for_each_owner(fleet: Fleet) -> None:
    paths = [f"/{number}" for number in range(60)]
    slow = [
        await fleet.add({}, *paths, host=f"http://slow{number}.example", concurrency=64) for number in (1, 2)
    ]
    late = await fleet.add(WIDE)
    fleet.owners |= {slow[0].id: "greedy", slow[1].id: "greedy", late.id: "greedy"}
    for run in slow:
        fleet.sites[run.id].only_waits = True
        fleet.sites[run.id].close(*paths)
    fleet.taken.add(late.id)

    async def is_at_limit() -> bool:
        return [one.health.at_limit for one in await fleet.folder.workers.find()] == [frozenset({"greedy"})]

    async with working(fleet.worker(slots=4)):
        await until(is_at_limit)
        held = [(await fleet.folder.store.get_run(run.id)).in_flight for run in slow]
        other = await fleet.add(WIDE, host="http://other.example")
        fleet.owners[other.id] = "modest"
        fleet.taken.clear()
        assert (await fleet.until_over(other)).counters.done == 21
        assert not fleet.sites[late.id].fetched
        for run in slow:
            for door in fleet.sites[run.id].doors.values():
                door.set()
        for run in (*slow, late):
            await fleet.until_over(run)
    assert 8 <= sum(held) <= 12, "half of four for each slot, and at most the slots beyond"
    assert sum(map(bool, held)) == 2


async def test_a_job_is_opened_once_and_closed_when_its_run_is_over(fleet: Fleet) -> None:
    first = await fleet.add(WIDE)
    async with working(fleet.worker()):
        await fleet.until_over(first)
        await until(fleet.has_closed)
        second = await fleet.add(WIDE)
        await fleet.until_over(second)
    assert fleet.opened == fleet.closed == [(first.id, 0), (second.id, 0)]


@pytest.mark.parametrize("error", [NotBuilt("a browser is not supported yet"), RuntimeError("a defect")])
async def test_a_run_that_cannot_be_opened_fails_and_the_others_go_on(fleet: Fleet, error: Exception) -> None:
    bad, good = await fleet.add(WIDE), await fleet.add(WIDE)
    fleet.broken[bad.id] = error
    async with working(fleet.worker()):
        failed = await fleet.until_over(bad)
        assert (await fleet.until_over(good)).state == "completed"
    assert (failed.state, failed.in_flight, failed.counters.open) == ("failed", 0, 0)
    assert str(error) in failed.reason
    assert not fleet.sites[bad.id].fetched
    assert await fleet.folder.store.fsck() == []


async def test_a_paused_run_keeps_what_is_in_flight_and_is_taken_up_again(fleet: Fleet) -> None:
    run, store = await fleet.add({}, "/a", "/b", concurrency=1), fleet.folder.store
    site = fleet.sites[run.id]
    site.close("/a", "/b")
    async with working(fleet.worker()):
        await site.until(lambda: bool(site.fetched))
        await store.set_state(run.id, "paused", "by hand")
        for door in site.doors.values():
            door.set()
        paused = await fleet.until(run, lambda now: now.counters.done == 1 and now.in_flight == 0)
        assert (paused.state, paused.counters.open) == ("paused", 1)
        await store.set_state(run.id, "queued")
        assert (await fleet.until_over(run)).counters.done == 2
    started = [event.is_resumed for event in fleet.events if isinstance(event, RunStarted)]
    assert started == [False, True]


async def test_a_run_paused_while_it_is_queued_stays_paused(fleet: Fleet) -> None:
    run, store = await fleet.add(WIDE), fleet.folder.store
    live = store.live_runs

    async def paused_meanwhile() -> list[Run]:
        found = await live()
        if found:
            await store.set_state(run.id, "paused", "by hand")
        return found

    source = AllRuns(store, fleet.folder.clock, LocalBus(), lambda _: True)
    store.live_runs = paused_meanwhile  # type: ignore[method-assign] # a person comes between two steps
    assert await source.poll() == []
    assert (await store.get_run(run.id)).state == "paused"


async def test_a_stopped_run_ends_after_what_is_in_flight(fleet: Fleet) -> None:
    run, store = await fleet.add({}, "/a", "/b", concurrency=1), fleet.folder.store
    site = fleet.sites[run.id]
    site.close("/a", "/b")
    async with working(fleet.worker()):
        await site.until(lambda: bool(site.fetched))
        await store.set_state(run.id, "stopping", "by hand")
        site.doors["/a"].set()
        site.doors["/b"].set()
        stopped = await fleet.until(run, lambda now: now.state == "stopped")
    assert (stopped.counters.done, stopped.counters.open) == (1, 1)


@pytest.mark.parametrize("how", ["cancelled", "limit", "deleted"])
async def test_pages_nobody_will_store_are_broken_off(fleet: Fleet, how: str) -> None:
    run, store = await fleet.add({}, "/hangs", "/a", limits=RunLimits(max_pages=1)), fleet.folder.store
    site = fleet.sites[run.id]
    site.close("/hangs", "/a")
    async with working(fleet.worker(slots=2)):
        await site.until(lambda: len(site.fetched) == 2)
        if how == "limit":
            site.doors["/a"].set()
        else:
            await store.set_state(run.id, "cancelled", "by hand")
        ended = await fleet.until(run, lambda now: now.finished_at is not None and now.in_flight == 0)
        if how == "deleted":
            await store.delete_run(run.id)
        other = await fleet.add(WIDE)
        assert (await fleet.until_over(other)).counters.done == 21
    assert ended.state == ("completed" if how == "limit" else "cancelled")


async def test_turned_limits_hold_for_the_next_pages(fleet: Fleet) -> None:
    chain = {f"/{number}": [f"/{number + 1}"] for number in range(50)}
    run, store = await fleet.add(chain, "/0", limits=RunLimits(max_depth=3)), fleet.folder.store
    site = fleet.sites[run.id]
    site.close("/2")
    async with working(fleet.worker()):
        await site.until(lambda: "/2" in site.fetched)
        await store.tune(run.id, Tuning(limits=LimitTuning(max_depth=6)))
        await fleet.until(run, lambda now: now.revision == 1)
        other = await fleet.add({}, "/x")
        await fleet.until_over(other)
        site.doors["/2"].set()
        ended = await fleet.until_over(run)
    assert ended.counters.done == 7
    assert (run.id, 1) in fleet.opened
    assert set(fleet.closed) == set(fleet.opened)


async def test_a_run_that_somebody_has_to_himself_is_left_alone(fleet: Fleet) -> None:
    mine, ours = await fleet.add(WIDE), await fleet.add(WIDE)
    fleet.taken.add(mine.id)
    async with working(fleet.worker()):
        await fleet.until_over(ours)
        assert (await fleet.folder.store.get_run(mine.id)).state == "queued"
        fleet.taken.clear()
        await fleet.until_over(mine)


async def test_a_worker_that_is_drained_finishes_what_it_holds_and_leaves(fleet: Fleet) -> None:
    run, registry = await fleet.add({}, "/a", "/b", "/c"), fleet.folder.workers
    site = fleet.sites[run.id]
    site.close("/a", "/b", "/c")
    beat, heard = registry.beat, asyncio.Event()

    async def listen(worker_id: int, news: HeartbeatReport) -> HeartbeatReply:
        orders = await beat(worker_id, news)
        if orders.is_draining:
            heard.set()
        return orders

    registry.beat = listen  # type: ignore[method-assign, assignment] # to know when it was told
    leaving = asyncio.create_task(fleet.worker(slots=2).run())
    await site.until(lambda: len(site.fetched) == 2)
    assert await registry.drain("box", actor="ann") == 1
    await heard.wait()
    for door in site.doors.values():
        door.set()
    async with asyncio.timeout(WAIT_S):
        await leaving
    assert await registry.find() == []
    left = await fleet.folder.store.get_run(run.id)
    assert (left.state, left.counters.done, left.counters.open, left.in_flight) == ("running", 2, 1, 0)


async def test_a_worker_tells_how_it_does(fleet: Fleet) -> None:
    async with working(fleet.worker(slots=5)):
        await until(fleet.has_beaten)
        (record,) = await fleet.folder.workers.find()
        assert (record.node, record.slots, record.is_alive) == ("box", 5, True)
        assert record.memory > 10_000_000
        assert record.cpu_s > 0.0


async def test_a_worker_with_nothing_to_do_writes_nothing(fleet: Fleet) -> None:
    async with working(fleet.worker()):
        await until(fleet.has_beaten)
        with closing(apsw.Connection(str(fleet.folder.path / FILE))) as other:
            before = other.pragma("data_version")
            looks: list[None] = []
            live = fleet.folder.store.live_runs

            async def counted() -> list[Run]:
                looks.append(None)
                return await live()

            async def has_looked() -> bool:
                return len(looks) >= 20

            fleet.folder.store.live_runs = counted  # type: ignore[method-assign] # to know that it looked
            await until(has_looked)
            after = other.pragma("data_version")
    assert after == before


async def test_the_slots_of_a_crawl_follow_its_concurrency(fleet: Fleet) -> None:
    paths = [f"/{number}" for number in range(12)]
    run, store = await fleet.add({}, *paths, concurrency=2), fleet.folder.store
    await store.set_state(run.id, "running")
    site = fleet.sites[run.id]
    site.close(*paths)
    crawl = asyncio.create_task(fleet.crawler(run).run())
    await site.until(lambda: len(site.fetched) == 2)
    await store.tune(run.id, Tuning(concurrency=6))
    await site.until(lambda: len(site.fetched) == 6)
    await store.tune(run.id, Tuning(concurrency=1))

    async def has_reopened() -> bool:
        return (run.id, 2) in fleet.opened

    await until(has_reopened)
    for path in list(site.fetched):
        site.doors[path].set()
    await site.until(lambda: len(site.fetched) == 7)
    assert (await store.get_run(run.id)).in_flight == 1
    for door in site.doors.values():
        door.set()
    await crawl
    assert (await store.get_run(run.id)).counters.done == 12


async def test_what_is_wrong_with_the_run_of_a_crawl_is_raised(fleet: Fleet) -> None:
    run = await fleet.add(WIDE)
    await fleet.folder.store.set_state(run.id, "running")
    fleet.broken[run.id] = NotBuilt("a browser is not supported yet")
    with pytest.raises(NotBuilt):
        await fleet.crawler(run).run()
    assert await fleet.folder.workers.find() == []
    assert (await fleet.folder.store.get_run(run.id)).state == "running"


async def test_nothing_is_leased_from_a_run_while_the_supervisor_holds_it(fleet: Fleet) -> None:
    memory = bytearray(activity.SIZE)
    activity.share(memory)
    try:
        held, other = await fleet.add(WIDE), await fleet.add(WIDE, host="http://other.example")
        activity.hold_runs(memory, [held.id])
        worker = fleet.worker()
        working = asyncio.create_task(worker.run())
        await fleet.until(other, lambda run: run.state == "completed")
        assert (await fleet.folder.store.get_run(held.id)).counters.done == 0
        activity.hold_runs(memory, ())
        await fleet.until(held, lambda run: run.state == "completed")
        worker.stop()
        await working
    finally:
        activity.share(bytearray(activity.SIZE))
