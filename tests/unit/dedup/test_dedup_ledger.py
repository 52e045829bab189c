"""A ledger that drops known URLs: no page is lost, whatever the filters do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.events import Event, UrlFilterCounted, UrlFilterFull
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.frontier.verdict import Close, RetryLater, Settlement, Verdict
from smartspider.core.pages.extraction import Extraction, Link
from smartspider.core.requests.request import Request, make_request
from smartspider.core.requests.scope import TrapGuards, UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.dedup import ledger as module
from smartspider.dedup.deduplicator import PAUSE_S, TIMEOUT_S, DedupRun
from smartspider.dedup.ledger import DedupLedger
from smartspider.dedup.url_filter import FilterAddition, FilterKey, FilterSize, FilterStack
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.runtime import LocalBus
from smartspider.interfaces.ledger import SettleReport
from smartspider.telemetry.subscribers import sentence
from smartspider_testing.backends.memory_url_filter import MemoryUrlFilter
from smartspider_testing.clock import ManualClock

HOST = "http://h.example"
RUN = FilterKey("run", 7, "one")


def request(path: str, **parts: Any) -> Request:
    return msgspec.structs.replace(make_request(HOST + path), **parts)


def plan_of(**parts: Any) -> Plan:
    return Plan("task", b"{}", "hash", (), {}, UrlScope(hosts=frozenset({"h.example"})), **parts)


def page(number: int, verdict: Verdict, run_id: int = 7) -> Settlement:
    lease = Lease(
        FencingToken(1, number), number, run_id, request(f"/page/{number}"), SendWindow(0, 0, 0), 0.0
    )
    return Settlement(lease, verdict)


def done(number: int, *paths: str, **parts: Any) -> Settlement:
    return page(number, Close("done", children=[request(path) for path in paths], **parts))


class Book:
    """A ledger that stores everything, unless told otherwise."""

    def __init__(self) -> None:
        self.settled: list[Settlement] = []
        self.late: set[int] = set()
        self.error: Exception | None = None

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        if self.error is not None:
            raise self.error
        self.settled = list(settlements)
        stored = [one.lease.url_id for one in settlements if one.lease.url_id not in self.late]
        return SettleReport(stored=stored, continued=[number for number in stored if number % 2])

    def children(self) -> list[list[str]]:
        verdicts = [one.verdict for one in self.settled]
        return [
            [child.url.removeprefix(HOST) for child in one.children]
            for one in verdicts
            if isinstance(one, Close)
        ]


class Away:
    """A filter whose server is gone, or does not answer at all."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.asked = 0
        self._hangs = hangs

    async def _fail(self, *_args: Any, **_kwargs: Any) -> Any:
        self.asked += 1
        if self._hangs:
            await asyncio.Event().wait()
        raise FrontierUnavailable("gone")

    find_known = add = drop = keys = size = estimate = _fail


class Counting:
    """Estimates that count."""

    def __init__(self) -> None:
        self.noted: dict[FilterKey, set[bytes]] = {}

    async def add(self, keys: Sequence[FilterKey], fingerprints: Sequence[bytes]) -> None:
        for key in keys:
            self.noted.setdefault(key, set()).update(fingerprints)

    async def estimate(self, keys: Sequence[FilterKey]) -> dict[FilterKey, int]:
        return {key: len(self.noted.get(key, ())) for key in keys}


class Desk:
    """A ledger with filters, and everything around it."""

    def __init__(self, plan: Plan | None = None, *, timeout_s: float = TIMEOUT_S, **layers: Any) -> None:
        self.book, self.clock, self.bus = Book(), ManualClock(), LocalBus()
        self.epoch = "one"
        self.events: list[Event] = []
        self.links = LinkFilter(plan_of(), lambda _url: None)
        self.bus.subscribe(self.events.append)
        self.layers = FilterStack(**layers)
        self.ledger = DedupLedger(
            self.book, self.layers, self.clock, self.bus, epoch=self._ask, timeout_s=timeout_s
        )
        self.run = DedupRun(plan or plan_of(), task_id=3, links=self.links)
        self.deduplicating = self.ledger.deduplicating(7, self.run)
        self.deduplicating.__enter__()

    async def _ask(self) -> str:
        return self.epoch

    def read(self, *hrefs: str) -> int:
        """Read a page with links, and have them remembered; how many were not known here."""
        links = [Link(href, "default") for href in hrefs]
        found = self.links.children(Extraction([], links, f"{HOST}/"), request("/"))
        self.links.remember(found)
        return len(found.children)

    async def settle(self, *settlements: Settlement) -> list[list[str]]:
        await self.ledger.settle(settlements)
        return self.book.children()


async def test_committed_children_are_not_stored_again() -> None:
    desk = Desk(exact=MemoryUrlFilter())
    assert await desk.settle(done(1, "/a", "/b")) == [["/a", "/b"]]
    assert await desk.settle(done(2, "/b", "/c"), done(3, "/a", "/page/1")) == [["/c"], []]
    assert [one.duplicate_urls for one in desk.book.settled] == [1, 2]
    counts = desk.ledger.counts["exact"]
    assert (counts.hits, counts.misses, counts.added) == (3, 3, 6)


async def test_children_of_one_group_all_reach_the_store() -> None:
    """Nothing of it is committed yet when it is asked about."""
    assert await Desk(exact=MemoryUrlFilter()).settle(done(1, "/a"), done(2, "/a")) == [["/a"], ["/a"]]


async def test_what_was_not_stored_is_not_known() -> None:
    """A page that came too late, or whose commit failed: its children may have no row."""
    desk = Desk(exact=MemoryUrlFilter())
    desk.book.late = {1}
    await desk.settle(done(1, "/a"))
    desk.book.error = FrontierUnavailable("no answer")
    with pytest.raises(FrontierUnavailable, match="no answer"):
        await desk.settle(done(2, "/b"))
    desk.book.error = None
    assert await desk.settle(done(3, "/a", "/b")) == [["/a", "/b"]]


async def test_next_pages_are_known_only_when_they_were_added() -> None:
    desk = Desk(exact=MemoryUrlFilter())
    await desk.settle(done(1, next_pages=[request("/2")]), done(2, next_pages=[request("/3")]))
    assert await desk.settle(done(5, "/2", "/3")) == [["/3"]]


async def test_further_pages_redirects_and_retries_pass_untouched() -> None:
    """Further pages may wake a row that was left alone; what a redirect leads to is always fetched."""
    desk = Desk(exact=MemoryUrlFilter())
    await desk.settle(done(1, "/a"))
    further = page(2, Close("done", children=[request("/a", is_next_page=True)]))
    redirect = page(3, Close("redirect", children=[request("/a")]))
    retry = page(4, RetryLater(1.0, "later"))
    await desk.settle(further, redirect, retry, done(5, "/a"))
    assert desk.book.settled[:3] == [further, redirect, retry]
    assert desk.book.children()[2] == []


async def test_links_that_later_runs_ask_for_are_all_kept() -> None:
    desk = Desk(exact=MemoryUrlFilter())
    links = [request("/a")]
    await desk.settle(done(1, "/a"))
    await desk.settle(done(2, "/a", links=links))
    (verdict,) = [one.verdict for one in desk.book.settled if isinstance(one.verdict, Close)]
    assert (verdict.children, verdict.links) == ([], links)


async def test_runs_with_a_budget_for_hosts_are_left_to_the_store() -> None:
    """A child beyond it has no row, and is not known."""
    desk = Desk(plan_of(traps=TrapGuards(max_urls_per_host=1)), exact=(exact := MemoryUrlFilter()))
    await desk.settle(done(1, "/a", "/b"))
    assert await desk.settle(done(2, "/a", "/b")) == [["/a", "/b"]]
    assert await exact.keys() == []


async def test_runs_that_nobody_asked_for_are_settled_as_they_are() -> None:
    desk = Desk(exact=(exact := MemoryUrlFilter()))
    other = page(1, Close("done", children=[request("/a")]), run_id=8)
    await desk.settle(other)
    desk.deduplicating.__exit__(None, None, None)
    await desk.settle(done(1, "/a"))
    assert await exact.keys() == []


async def test_a_job_that_is_replaced_leaves_its_run_to_the_next() -> None:
    desk = Desk(exact=(exact := MemoryUrlFilter()))
    with desk.ledger.deduplicating(7, DedupRun(plan_of())):
        desk.deduplicating.__exit__(None, None, None)
        await desk.settle(done(1, "/a"))
        assert await desk.settle(done(2, "/a")) == [[]]
    await exact.drop(RUN)
    await desk.settle(done(3, "/a"))
    assert await exact.keys() == []


async def test_another_epoch_of_the_store_forgets_everything() -> None:
    desk = Desk(exact=MemoryUrlFilter())
    await desk.settle(done(1, "/a"))
    assert (desk.read("/x"), desk.read("/x")) == (1, 0)
    desk.epoch = "two"
    await desk.settle()
    assert desk.read("/x") == 1
    for number in range(module.DOUBTFUL_GROUPS):
        await desk.settle(done(number))
    assert await desk.settle(done(1, "/a")) == [["/a"]]
    assert await desk.settle(done(2, "/a")) == [[]]


async def test_pages_read_before_another_epoch_was_noticed_are_fetched_again() -> None:
    """They lack links that were known, and are not any more; also when the first try to say so fails."""
    desk = Desk(exact=MemoryUrlFilter())
    await desk.settle(done(1, "/a"))
    desk.epoch = "two"
    gone = page(4, Close("missing", status=404))
    desk.book.error = FrontierUnavailable("not yet")
    with pytest.raises(FrontierUnavailable):
        await desk.settle(done(2, "/b"))
    desk.book.error = None
    for number in (2, 3):
        await desk.settle(done(number, "/b"), gone)
        retried, closed = desk.book.settled
        assert retried.verdict == RetryLater(0.0, module.STORE_CHANGED, counts=False)
        assert closed == gone
    assert await desk.settle(done(5, "/b")) == [["/b"]]


async def test_a_commit_while_the_store_changed_is_known_of_the_old_one_only() -> None:
    """It may have been made in the store that is gone."""
    desk = Desk(exact=(exact := MemoryUrlFilter()))

    async def settle(settlements: Sequence[Settlement]) -> SettleReport:
        desk.epoch = "two"
        return SettleReport(stored=[one.lease.url_id for one in settlements])

    desk.book.settle = settle  # type: ignore[method-assign] # another store answers
    await desk.ledger.settle([done(1, "/a")])
    assert await exact.keys() == [RUN]


@pytest.mark.parametrize("hangs", [False, True])
async def test_an_unavailable_filter_is_skipped_for_a_while(
    hangs: bool,
) -> None:
    desk = Desk(timeout_s=0.01, exact=(away := Away(hangs=hangs)))
    assert await desk.settle(done(1, "/a")) == [["/a"]]
    assert await desk.settle(done(2, "/a")) == [["/a"]]
    assert (away.asked, desk.ledger.counts["exact"].unavailable) == (1, 1)
    await desk.clock.advance(PAUSE_S)
    await desk.settle(done(3, "/a"))
    assert away.asked == 2


async def test_only_tasks_that_name_it_use_the_lossy_filter() -> None:
    lossy, exact = MemoryUrlFilter(), MemoryUrlFilter()
    known = request("/a").fingerprint
    await lossy.add(RUN, [known])
    assert await Desk(lossy=lossy, exact=exact).settle(done(1, "/a")) == [["/a"]]
    desk = Desk(plan_of(urls="bloom"), lossy=lossy, exact=(untouched := MemoryUrlFilter()))
    assert await desk.settle(done(1, "/a", "/b")) == [["/b"]]
    assert await desk.settle(done(2, "/b")) == [[]]
    assert (await untouched.size()).entries == 0
    assert desk.ledger.counts["lossy"].hits == 2


async def test_distinct_requests_are_estimated_for_run_and_task() -> None:
    desk = Desk(exact=MemoryUrlFilter(), estimates=(estimates := Counting()))
    await desk.settle(done(1, "/a", "/b"))
    run, task = FilterKey("run", 7), FilterKey("task", 3)
    assert await estimates.estimate([run, task]) == {run: 3, task: 3}


async def test_counts_of_filters_are_published_now_and_then() -> None:
    desk = Desk(exact=MemoryUrlFilter())
    await desk.settle(done(1, "/a"))
    desk.events.clear()
    desk.read("/x", "/y", "/x")
    await desk.settle(done(2, "/a", "/b"))
    assert desk.events == []
    await desk.clock.advance(module.PUBLISH_S)
    await desk.settle(done(3, "/a"))
    assert desk.events == [
        UrlFilterCounted(0, "local", 1, 2, 0, 0, 0),
        UrlFilterCounted(0, "exact", 2, 1, 3, 0, 0),
    ]
    assert "1 hits, 2 misses" in sentence(desk.events[0])
    desk.read("/x")
    desk.deduplicating.__exit__(None, None, None)
    assert desk.events[2:] == [UrlFilterCounted(0, "local", 1, 0, 0, 0, 0)]


async def test_a_filter_that_gets_full_is_reported_once_and_once_more_when_it_is() -> None:
    desk = Desk(exact=MemoryUrlFilter(max_bytes=250))
    for number in range(6):
        await desk.settle(done(number, f"/{number}"))
    filling, full = (event for event in desk.events if isinstance(event, UrlFilterFull))
    assert (filling.layer, filling.bytes_used, filling.is_full) == ("exact", 200, False)
    assert (full.bytes_used, full.bytes_max, full.is_full) == (250, 250, True)
    assert desk.ledger.counts["exact"].refused == 2
    assert "200 of 250 bytes" in sentence(filling)
    assert "250 of 250 bytes" in sentence(full)


async def test_a_filter_that_got_room_again_warns_again() -> None:
    sizes = iter((85, 85, 10, 90))

    class Breathing(MemoryUrlFilter):
        async def add(self, key: FilterKey, fingerprints: Sequence[bytes]) -> FilterAddition:
            return FilterAddition(1, 0, FilterSize(1, next(sizes), 100))

    desk = Desk(exact=Breathing())
    for number in range(4):
        await desk.settle(done(number, f"/{number}"))
    assert [event.bytes_used for event in desk.events if isinstance(event, UrlFilterFull)] == [85, 90]
