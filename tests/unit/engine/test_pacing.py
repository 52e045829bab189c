"""Pages of hosts with a delay are leased and settled together, since nothing is sent sooner otherwise."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from tests.unit.engine.test_worker import Crew

from smartspider.core.errors import RobotsUnavailable
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.frontier.verdict import Close, HostNews, RetryLater, Settlement, Verdict
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import make_request
from smartspider.core.runs.run import Run
from smartspider.engine.context import WorkerOptions
from smartspider.engine.pacing import AT_ONCE, MAX_HOSTS, HostOpenings
from smartspider.installation.data_folder import DataFolder

DELAY_S = 0.03
FREE = SendWindow(0.0, 0.0, 0.0)


def settlement(verdict: Verdict, news: tuple[HostNews, ...] = (), host: str = "a.example") -> Settlement:
    request = make_request(f"http://{host}/")
    return Settlement(Lease(FencingToken(1, 1), 1, 1, request, FREE, 60.0), verdict, news)


def page(*children: str) -> Close:
    return Close("done", children=[make_request(f"http://{host}/") for host in children])


@pytest.fixture
def openings() -> HostOpenings:
    """Of hosts that open at 12 and at 15."""
    openings = HostOpenings()
    openings.record("a.example", SendWindow(9.0, 10.0, 5.0))
    openings.record("a.example", SendWindow(1.0, 2.0, 5.0))
    openings.record("b.example", SendWindow(9.0, 10.0, 2.0))
    return openings


def test_a_page_is_needed_when_the_first_of_its_hosts_opens(openings: HostOpenings) -> None:
    assert openings.needed_at(settlement(page())) == 15.0
    assert openings.needed_at(settlement(page("a.example"))) == 15.0
    assert openings.needed_at(settlement(page("a.example", "b.example"))) == 12.0


def test_a_link_to_a_host_that_may_be_open_is_needed_at_once(openings: HostOpenings) -> None:
    assert openings.needed_at(settlement(page("a.example", "new.example"))) == AT_ONCE
    next_page = Close("done", next_pages=[make_request("http://new.example/")])
    assert openings.needed_at(settlement(next_page)) == AT_ONCE


def test_pages_of_hosts_without_a_delay_are_needed_at_once(openings: HostOpenings) -> None:
    openings.record("free.example", FREE)
    assert openings.needed_at(settlement(page(), host="free.example")) == AT_ONCE


def test_failures_and_what_a_host_says_are_needed_at_once(openings: HostOpenings) -> None:
    assert openings.needed_at(settlement(RetryLater(1.0, "timeout"))) == AT_ONCE
    assert openings.needed_at(settlement(page(), (HostNews(slow_down=True),))) == AT_ONCE


def test_hosts_that_are_open_again_are_dropped() -> None:
    openings = HostOpenings()
    for number in range(3 * MAX_HOSTS):
        openings.record(f"h{number}.example", SendWindow(number, number, 1.0))
    newest = f"h{3 * MAX_HOSTS - 1}.example"
    assert openings.needed_at(settlement(page(), host="h0.example")) == AT_ONCE
    assert openings.needed_at(settlement(page(), host=newest)) == 3.0 * MAX_HOSTS


async def until_written(crew: Crew) -> Run:
    """Stop the worker after its first settle."""

    async def stop() -> None:
        await crew.book.wrote.wait()
        crew.worker.stop()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(stop())
        return await crew.finish()


async def test_pages_of_a_paced_host_are_settled_together(folder: DataFolder) -> None:
    paths = [f"/{number}" for number in range(16)]
    polite = PolitenessPolicy(delay_s=DELAY_S, per_host=8)
    crew = Crew(folder, {"/": paths}, politeness=polite)
    run = await crew.work(slots=16)
    assert (run.state, run.counters.done) == ("completed", 17)
    assert len(crew.book.groups) <= 12
    windows = sorted((lease.window for lease in crew.leases.values()), key=lambda window: window.not_before)
    assert min(new.not_before - old.not_after for old, new in pairwise(windows)) >= DELAY_S - 1e-6


async def test_a_page_waits_for_others_no_longer_than_allowed(folder: DataFolder) -> None:
    """The host opens in an hour."""
    crew = Crew(folder, {}, "/a", "/b", politeness=PolitenessPolicy(delay_s=3_600.0))
    crew.options = WorkerOptions(refresh_s=0.01, paced_settle_s=0.05)
    await crew.start()
    started_at = folder.clock.monotonic()
    run = await until_written(crew)
    assert (run.counters.done, run.counters.open) == (1, 1)
    assert folder.clock.monotonic() - started_at < 60.0


async def test_windows_ahead_are_given_back_when_the_host_asks_for_a_pause(folder: DataFolder) -> None:
    """Nothing is sent to it after that, although four windows were leased at once."""
    paths = [f"/{number}" for number in range(4)]
    crew = Crew(folder, {}, *paths, politeness=PolitenessPolicy(delay_s=2.0, per_host=4))
    crew.options = WorkerOptions(refresh_s=0.01, lease_ahead_s=30.0)
    crew.site.errors = {path: [RobotsUnavailable("503")] for path in paths}
    await crew.start(slots=8)
    run = await until_written(crew)
    assert crew.site.fetched.total() == 1
    assert set(crew.leases) == set(paths), "they were leased ahead"
    assert (run.counters.open, run.in_flight) == (4, 0)
    assert [len(group) for group in crew.book.groups] == [1]
