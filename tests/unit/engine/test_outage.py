"""A worker whose servers go away: nothing in flight is lost, and it continues when they are back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.unit.engine.dictionary_site import HOST, Lines, Site
from tests.unit.engine.opener import JobOpener

from smartspider.core.errors import FrontierUnavailable, NotArmed, StoreUnavailable
from smartspider.core.events import Event, StoreLost, StoreReturned
from smartspider.core.frontier.lease import Lease, SendWindow
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.engine.answer_reader import AnswerReader
from smartspider.engine.context import WorkerContext, WorkerOptions
from smartspider.engine.in_flight import Job
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.outage import Backoff, OutageRetry, OutageRetryGate, OutageRetryRobotsCache
from smartspider.engine.permits import GatePermit
from smartspider.engine.processor import Processor
from smartspider.engine.run_source import AllRuns
from smartspider.engine.runtime import LocalBus
from smartspider.engine.worker import Worker
from smartspider.installation.data_folder import DataFolder
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport
from smartspider.wiring.opening import open_folder
from smartspider_testing.clock import ManualClock
from smartspider_testing.waiting import WAIT_S

T = TypeVar("T")
PAGES = {"/": [f"/{number}" for number in range(6)]}


class Away:
    """A service that can be unavailable; everything else is passed on."""

    def __init__(self, real: Any, *calls: str) -> None:
        self._real = real
        self._calls = calls
        self.error: StoreUnavailable | None = None
        self.tries = 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        if name not in self._calls:
            return real

        async def call(*args: Any, **more: Any) -> Any:
            if self.error is not None:
                self.tries += 1
                raise self.error
            return await real(*args, **more)

        return call


class Crew:
    """A patient worker on a data folder whose ledger, frontier, store or registry can be away."""

    def __init__(self, folder: DataFolder, pages: dict[str, list[str]]) -> None:
        self.folder = folder
        self.site = Site(pages)
        self.events: list[Event] = []
        self.ledger = Away(folder.ledger, "settle")
        self.frontier = Away(folder.frontier, "lease", "renew", "release", "leave", "permit")
        self.store: Any = Away(folder.store, "live_runs", "finish", "get_run")
        self.workers = Away(folder.workers, "beat")
        entry = make_request(HOST + "/", is_entry=True)
        polite = PolitenessPolicy(delay_s=0.0, per_host=64)
        scope = UrlScope(hosts=frozenset({entry.host}))
        self.plan = Plan("task", b"{}", "hash", (entry,), {}, scope, politeness=polite)
        self.bus = LocalBus()
        self.bus.subscribe(self.events.append)
        self.outage = OutageRetry(folder.clock, self.bus, is_enabled=True, longest_pause_s=0.05)

    async def add(self) -> Run:
        return await self.folder.store.create_run(self.plan)

    def worker(self, *, slots: int = 4, drain_s: float = 5.0, store_s: float = 5.0) -> Worker:
        clock, bus = self.folder.clock, self.bus
        context = WorkerContext(self.store, self.frontier, self.ledger, self.workers, clock, bus, self.outage)
        source = AllRuns(self.store, clock, bus, lambda _: True)

        @asynccontextmanager
        async def open_job(run: Run) -> AsyncIterator[Job]:
            links = LinkFilter(self.plan, lambda _: None)
            reader = AnswerReader(run.id, self.plan, Lines(), None, links, bus=bus)
            yield Job(self.plan, Processor(self.plan, self.site, reader, self._permit, clock), links)

        options = WorkerOptions(drain_s, store_s, beat_s=0.02, renew_s=0.02, refresh_s=0.01)
        return Worker(
            context,
            source,
            JobOpener(open_job),
            WorkerRegistration("one", "box"),
            slots=slots,
            options=options,
        )

    def _permit(self, lease: Lease) -> GatePermit:
        gate = OutageRetryGate(self.frontier, self.outage)
        return GatePermit(gate, self.folder.clock, lease.request.host, lease.window)

    async def until_over(self, run: Run) -> Run:
        async def is_over() -> bool:
            return (await self.folder.store.get_run(run.id)).finished_at is not None

        await until(is_over)
        return await self.folder.store.get_run(run.id)

    def said(self) -> list[str]:
        return [event.name for event in self.events if isinstance(event, StoreLost | StoreReturned)]


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not await is_so():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


@asynccontextmanager
async def working(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(worker.run())
    try:
        yield task
    finally:
        worker.stop()
        await task


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    with open_folder(tmp_path / "data") as folder:
        yield Crew(folder, PAGES)


@pytest.mark.parametrize("part", ["ledger", "frontier", "store", "workers"])
@pytest.mark.parametrize(
    "error", [StoreUnavailable("gone"), FrontierUnavailable("gone"), NotArmed("not yet")]
)
async def test_whatever_is_away_for_a_while_costs_nothing(
    crew: Crew, part: str, error: StoreUnavailable
) -> None:
    away: Away = getattr(crew, part)
    away.error = error
    run = await crew.add()
    async with working(crew.worker()) as task:

        async def has_tried() -> bool:
            return away.tries >= 5

        await until(has_tried)
        assert not task.done()
        away.error = None
        ended = await crew.until_over(run)
        assert (ended.state, ended.counters.done) == ("completed", 7)

        async def is_well() -> bool:
            return len(crew.said()) == 2

        await until(is_well)
    assert sum(crew.site.fetched.values()) == 7
    assert crew.said() == ["store.lost", "store.returned"]
    assert await crew.folder.store.fsck() == []


async def test_nothing_more_is_taken_while_pages_cannot_be_settled(crew: Crew) -> None:
    crew.ledger.error = StoreUnavailable("gone")
    run = await crew.add()
    async with working(crew.worker(slots=3)):

        async def has_tried() -> bool:
            return crew.ledger.tries >= 5

        await until(has_tried)
        assert sum(crew.site.fetched.values()) == 1
        assert (await crew.folder.store.get_run(run.id)).in_flight == 1
        crew.ledger.error = None
        assert (await crew.until_over(run)).counters.done == 7


async def test_beats_and_renewals_go_on_while_a_settle_hangs(crew: Crew) -> None:
    real, go_on = crew.folder.ledger.settle, asyncio.Event()
    renewed: list[int] = []
    renew = crew.folder.frontier.renew

    async def hanging(settlements: Any) -> Any:
        await go_on.wait()
        return await real(settlements)

    async def counted(leases: Any) -> Any:
        renewed.append(len(leases))
        return await renew(leases)

    crew.ledger = Away(type("Slow", (), {"settle": staticmethod(hanging)})())
    crew.folder.frontier.renew = counted  # type: ignore[method-assign]  # to know when
    run = await crew.add()
    async with working(crew.worker()):

        async def has_renewed() -> bool:
            return len(renewed) >= 3

        await until(has_renewed)
        go_on.set()
        assert (await crew.until_over(run)).counters.done == 7
    assert renewed[:3] == [1, 1, 1]


async def test_a_page_that_comes_during_a_settle_is_settled_with_the_next(crew: Crew) -> None:
    real, go_on, groups = crew.folder.ledger.settle, asyncio.Event(), list[int]()

    async def slow(settlements: Any) -> Any:
        groups.append(len(settlements))
        if len(groups) == 2:
            await go_on.wait()
        return await real(settlements)

    crew.ledger = Away(type("Slow", (), {"settle": staticmethod(slow)})())
    crew.site.close("/1", "/2")
    run = await crew.add()
    async with working(crew.worker(slots=3)):
        await crew.site.until(lambda: len(crew.site.fetched) == 4)

        async def is_settling() -> bool:
            return len(groups) == 2

        await until(is_settling)
        for door in crew.site.doors.values():
            door.set()
        for _ in range(20):
            await asyncio.sleep(0)
        go_on.set()
        assert (await crew.until_over(run)).counters.done == 7
    assert sum(crew.site.fetched.values()) == sum(groups) == 7


async def test_a_worker_that_is_stopped_while_its_store_is_away_leaves_in_time(crew: Crew) -> None:
    crew.ledger.error = StoreUnavailable("gone")
    run = await crew.add()
    worker = crew.worker(drain_s=0.1, store_s=0.1)
    task = asyncio.create_task(worker.run())

    async def has_tried() -> bool:
        return crew.ledger.tries >= 1

    await until(has_tried)
    worker.stop()
    async with asyncio.timeout(WAIT_S):
        await task
    left = await crew.folder.store.get_run(run.id)
    assert (left.counters.done, left.counters.open, left.in_flight) == (0, 1, 0)


async def test_a_worker_that_was_taken_for_dead_joins_once_more(crew: Crew) -> None:
    beat, heard = crew.folder.workers.beat, list[int]()

    async def forgetful(worker_id: int, news: HeartbeatReport) -> HeartbeatReply:
        heard.append(worker_id)
        return HeartbeatReply(is_unknown=True) if len(heard) == 1 else await beat(worker_id, news)

    crew.folder.workers.beat = forgetful  # type: ignore[method-assign, assignment] # to be forgotten
    run = await crew.add()
    async with working(crew.worker()):
        assert (await crew.until_over(run)).counters.done == 7

        async def has_joined() -> bool:
            return len(set(heard)) == 2

        await until(has_joined)


async def test_slots_are_given_while_the_worker_works(crew: Crew) -> None:
    crew.site.close(*PAGES["/"])
    await crew.add()
    async with working(crew.worker(slots=2)):
        await crew.site.until(lambda: len(crew.site.fetched) == 3)
        assert await crew.folder.workers.tune("box", 5, actor="ann") == 1
        await crew.site.until(lambda: len(crew.site.fetched) == 6)
        for door in crew.site.doors.values():
            door.set()


async def test_a_permit_and_robots_are_waited_for() -> None:
    clock, bus, said = ManualClock(), LocalBus(), list[Event]()
    bus.subscribe(said.append)
    waits, failures = OutageRetry(clock, bus, is_enabled=True), [NotArmed("not yet"), NotArmed("not yet")]

    class Gate:
        async def permit(self, _host: str) -> SendWindow:
            if failures:
                raise failures.pop()
            return SendWindow(1.0, 2.0, 0.0)

        async def get_robots(self, _origin: str) -> None:
            return None

    asked = asyncio.create_task(OutageRetryGate(Gate(), waits).permit("h.example"))  # type: ignore[arg-type]  # enough
    for _ in range(2):
        await asyncio.sleep(0)
        await clock.advance(1.0)
    assert await asked == SendWindow(1.0, 2.0, 0.0)
    assert [event.name for event in said] == ["store.lost", "store.returned"]
    assert await OutageRetryRobotsCache(Gate(), waits).get_robots("http://h.example") is None  # type: ignore[arg-type]  # enough


async def test_without_retries_the_first_failure_is_the_last() -> None:
    clock, bus = ManualClock(), LocalBus()

    async def gone() -> None:
        raise StoreUnavailable("gone")

    with pytest.raises(StoreUnavailable):
        await OutageRetry(clock, bus, is_enabled=False).call("it", gone)


def test_pauses_grow_up_to_half_a_second() -> None:
    backoff = Backoff()
    found = [backoff.next_s() for _ in range(6)]
    assert found == [0.05, 0.1, 0.2, 0.4, 0.5, 0.5]
    backoff.reset()
    assert backoff.next_s() == 0.05
