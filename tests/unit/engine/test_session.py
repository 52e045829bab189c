"""The cookies of a run in a worker, and the sessions that outlive jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.unit.engine.opener import NoTransport

from smartspider.core.cookies.jar import Cookie, CookieJar
from smartspider.core.errors import StoreUnavailable
from smartspider.core.runs.run import Counters, Run
from smartspider.engine.in_flight import Job, OpenedRuns
from smartspider.engine.session import FRESH_S, RunCookies, Session
from smartspider.store.cookies import KEPT_VERSIONS, StoredCookies
from smartspider_testing.clock import ManualClock

URL = "https://shop.example/"


class SharedCookies:
    """The stored cookies of a run, as two workers share them."""

    def __init__(self) -> None:
        self.version = 0
        self.rows: dict[Any, tuple[int, Cookie]] = {}
        self.reads: list[int] = []
        self.is_away = False

    async def read(self, after: int) -> StoredCookies:
        if self.is_away:
            raise StoreUnavailable("away")
        self.reads.append(after)
        return StoredCookies(
            self.version, [cookie for version, cookie in self.rows.values() if version > after]
        )

    def write(self, cookies: Sequence[Cookie]) -> int:
        self.version += 1
        for cookie in cookies:
            _, before = self.rows.get(cookie.key, (0, cookie))
            if cookie.set_at >= before.set_at:
                self.rows[cookie.key] = self.version, cookie
        return self.version

    def settle(self, *workers: RunCookies) -> None:
        """What each worker changed is stored."""
        for worker in workers:
            changed = worker.changes()
            worker.stored(changed, self.write(changed))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def shared() -> SharedCookies:
    return SharedCookies()


@pytest.fixture
def one(shared: SharedCookies, clock: ManualClock) -> RunCookies:
    return RunCookies(shared.read, clock)


@pytest.fixture
def two(shared: SharedCookies, clock: ManualClock) -> RunCookies:
    return RunCookies(shared.read, clock)


async def test_a_worker_knows_the_cookies_that_its_lease_needs(
    one: RunCookies, two: RunCookies, shared: SharedCookies
) -> None:
    one.store(URL, [b"id=1; Path=/", b"lang=en"])
    assert two.header_for(URL) is None
    shared.settle(one)
    await two.catch_up(1)
    assert two.header_for(URL) == one.header_for(URL) == b"id=1; lang=en"
    one.store(URL, [b"id=; Max-Age=0; Path=/"])
    shared.settle(one)
    await two.catch_up(2)
    assert two.header_for(URL) == b"lang=en"


async def test_a_request_that_waited_looks_again_before_it_is_sent(
    one: RunCookies, two: RunCookies, shared: SharedCookies, clock: ManualClock
) -> None:
    await two.catch_up(0)
    one.store(URL, [b"id=1"])
    shared.settle(one)
    await two.refresh()
    assert (two.header_for(URL), shared.reads) == (None, [])
    await clock.advance(FRESH_S)
    await two.refresh()
    await two.refresh()
    assert (two.header_for(URL), shared.reads) == (b"id=1", [0])


async def test_a_worker_alone_reads_nothing_back(one: RunCookies, shared: SharedCookies) -> None:
    for number in range(1, 6):
        one.store(URL, [b"id=%d" % number])
        shared.settle(one)
        await one.catch_up(number)
    assert shared.reads == []
    assert one.changes() == ()


async def test_the_cookie_that_was_set_last_wins_everywhere(
    one: RunCookies, two: RunCookies, shared: SharedCookies, clock: ManualClock
) -> None:
    one.store(URL, [b"id=old", b"own=1"])
    await clock.advance(1.0)
    two.store(URL, [b"id=new"])
    shared.settle(two)
    await one.catch_up(1)
    assert one.header_for(URL) == b"own=1; id=new"  # the older one first
    await clock.advance(1.0)
    one.store(URL, [b"id=newest"])
    two.store(URL, [b"other=1"])
    shared.settle(two)
    await one.catch_up(2)
    shared.settle(one)
    await two.catch_up(3)
    assert sorted((one.header_for(URL) or b"").split(b"; ")) == [b"id=newest", b"other=1", b"own=1"]
    assert sorted((two.header_for(URL) or b"").split(b"; ")) == [b"id=newest", b"other=1", b"own=1"]


async def test_what_is_not_stored_yet_stays_to_be_stored(one: RunCookies, shared: SharedCookies) -> None:
    one.store(URL, [b"id=1"])
    changed = one.changes()
    one.store(URL, [b"id=2"])
    one.stored(changed, shared.write(changed))
    (left,) = one.changes()
    assert left.value == b"2"


async def test_the_same_cookie_again_is_no_change(one: RunCookies, shared: SharedCookies) -> None:
    one.store(URL, [b"id=1; Max-Age=1000", b"lang=en"])
    shared.settle(one)
    one.store(URL, [b"id=1; Max-Age=1050", b"lang=en"])
    assert one.changes() == ()
    one.store(URL, [b"id=1; Max-Age=2000"])
    assert len(one.changes()) == 1


async def test_a_worker_that_missed_forgotten_deletions_begins_anew(
    one: RunCookies, two: RunCookies, shared: SharedCookies
) -> None:
    one.store(URL, [b"id=1", b"gone=1"])
    shared.settle(one)
    await two.catch_up(1)
    two.store(URL, [b"own=1"])
    shared.rows = {key: row for key, row in shared.rows.items() if row[1].name != b"gone"}
    shared.version += KEPT_VERSIONS + 1
    await two.catch_up(shared.version)
    assert sorted((two.header_for(URL) or b"").split(b"; ")) == [b"id=1", b"own=1"]


async def test_a_store_that_is_away_keeps_no_request_from_being_sent(
    one: RunCookies, shared: SharedCookies, clock: ManualClock
) -> None:
    one.store(URL, [b"id=1"])
    shared.is_away = True
    await clock.advance(FRESH_S)
    await one.refresh()
    assert one.header_for(URL) == b"id=1"
    with pytest.raises(StoreUnavailable):
        await one.catch_up(1)


def test_cookies_that_give_way_are_deleted_in_the_store(clock: ManualClock) -> None:
    jar = CookieJar(clock.now)
    jar.store(URL, [b"c%d=1" % number for number in range(181)])
    assert [cookie.name for cookie in jar.changes() if cookie.is_deleted] == [b"c0"]


def _run(run_id: int) -> Run:
    return Run(run_id, "task", b"{}", "hash", "running", "", Counters(), 0, 0.0)


class Runs:
    """Opens sessions and jobs, and counts what is open."""

    def __init__(self) -> None:
        self.open: list[str] = []

    async def owner(self, _run: Run) -> str:
        return ""

    @asynccontextmanager
    async def open_session(self, run: Run) -> AsyncIterator[Session]:
        self.open.append(f"session {run.id}")
        yield Session(transport=NoTransport())
        self.open.remove(f"session {run.id}")

    @asynccontextmanager
    async def open_job(self, run: Run, session: Session) -> AsyncIterator[Job]:
        name = f"job {run.id}.{run.revision} of {session.transport!r}"
        self.open.append(name)
        job: Any = name
        yield job
        self.open.remove(name)


async def test_a_session_outlives_the_jobs_of_a_tuned_run() -> None:
    runs = Runs()
    opened = OpenedRuns(runs)
    run = _run(1)
    first = await opened.job(run)
    first.users += 1
    second = await opened.job(msgspec.structs.replace(run, revision=1))
    assert second.session is first.session
    await opened.retain([1])
    assert len(runs.open) == 3
    first.users -= 1
    await opened.retain([1])
    assert runs.open[0] == "session 1"
    assert len(runs.open) == 2
    second.users += 1
    await opened.retain([])
    assert len(runs.open) == 2
    second.users -= 1
    await opened.retain([])
    assert runs.open == []


async def test_closing_closes_sessions_after_their_jobs() -> None:
    runs = Runs()
    opened = OpenedRuns(runs)
    await opened.job(_run(1))
    await opened.job(_run(2))
    await opened.close()
    assert runs.open == []
