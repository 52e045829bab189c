"""The clock of a database server that jumps, as several processes see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.store_clock import PostgresStoreClock
from smartspider.backends.postgres.store_time import FOLLOW_S, GIVE_UP_S
from smartspider.backends.postgres.workers import PostgresLeadership, PostgresMembership
from smartspider.core.clock_doubt import BELIEVED_AFTER_S
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.engine.runtime import SystemClock
from smartspider.store.audit import AuditLog
from smartspider.store.requests import SqlStoredUrls
from smartspider_testing.waiting import WAIT_S

DAY_S = 86_400.0


class SteadyClock(SystemClock):
    """A steady clock that is set. Set back for all processes, it makes the server's clock jump forward."""

    def __init__(self) -> None:
        self.offset_s = 400 * DAY_S

    def monotonic(self) -> float:
        return super().monotonic() + self.offset_s


class Process:
    """A process of a cluster."""

    def __init__(self, url: str, clock: SteadyClock) -> None:
        self.database = PostgresDatabase(url, clock, size=2)
        self.clock = PostgresStoreClock(self.database)
        self.epoch = 0

    async def lead(self) -> None:
        term = await PostgresLeadership(self.database).take("one", 60.0)
        assert term is not None
        self.epoch = term.epoch

    async def follow(self) -> float:
        """Compare with the store, as is done every few seconds; return its time."""
        await self.database.follow_clock()
        return self.database.now()


@pytest.fixture
def steady() -> SteadyClock:
    return SteadyClock()


@asynccontextmanager
async def process(url: str, clock: SteadyClock) -> AsyncIterator[Process]:
    made = Process(url, clock)
    await made.follow()
    try:
        yield made
    finally:
        made.database.close()


@pytest.fixture
async def leader(empty_store: str, steady: SteadyClock) -> AsyncIterator[Process]:
    async with process(empty_store, steady) as made:
        await made.lead()
        yield made


@pytest.fixture
async def worker(empty_store: str, steady: SteadyClock) -> AsyncIterator[Process]:
    async with process(empty_store, steady) as made:
        yield made


async def actions(one: Process) -> list[str]:
    return [entry.action for entry in await AuditLog(one.database).entries()]


@pytest.mark.parametrize("jump_s", [300 * DAY_S, -DAY_S])
async def test_a_jump_of_the_server_changes_nothing_for_any_process(
    empty_store: str, steady: SteadyClock, leader: Process, worker: Process, jump_s: float
) -> None:
    before = leader.database.now()
    steady.offset_s -= jump_s
    start = leader.database.now()
    assert start == pytest.approx(before - jump_s, abs=10.0)  # in the clock's terms: nothing has passed
    await leader.clock.follow(leader.epoch)
    assert await leader.follow() == pytest.approx(start, abs=10.0)
    assert await worker.follow() == pytest.approx(start, abs=10.0)
    async with process(empty_store, steady) as newcomer:
        assert newcomer.database.now() == pytest.approx(start, abs=10.0)
    status = await worker.clock.status()
    assert status.doubt is not None
    assert status.doubt.ahead_s == pytest.approx(jump_s, abs=10.0)
    assert await actions(leader) == ["clock.doubted"]
    await leader.clock.follow(leader.epoch)
    assert await actions(leader) == ["clock.doubted"]
    steady.offset_s += jump_s
    await leader.clock.follow(leader.epoch)
    assert await worker.follow() == pytest.approx(before, abs=10.0)
    assert (await worker.clock.status()).doubt is None
    assert await actions(leader) == ["clock.agreed", "clock.doubted"]


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
async def test_a_jump_that_lasts_is_followed_by_all(
    steady: SteadyClock, leader: Process, worker: Process, jump_s: float
) -> None:
    """Rule 21: also back; the leader's term ends, and the frontier is filled anew."""
    history = await SqlStoredUrls(leader.database).epoch()
    steady.offset_s -= jump_s
    await leader.clock.follow(leader.epoch)
    jumped = await worker.follow()
    await leader.database.fetch("UPDATE clock SET since = since - ? RETURNING 1", (BELIEVED_AFTER_S,))
    await leader.clock.follow(leader.epoch)
    followed = await worker.follow()
    status = await worker.clock.status()
    assert status.doubt is None
    assert followed == pytest.approx(status.wall_now, abs=10.0)
    assert leader.database.now() == pytest.approx(status.wall_now, abs=10.0)
    assert "clock.followed" in await actions(leader)
    assert (await PostgresLeadership(worker.database).newest()).owner == ""
    assert followed - jumped == pytest.approx(jump_s, abs=10.0)
    assert (await SqlStoredUrls(leader.database).epoch() != history) == (jump_s < 0)


async def test_a_leader_that_was_suspended_follows_the_others(empty_store: str, worker: Process) -> None:
    """Its own clock stood still: the store is right."""
    own = SteadyClock()
    async with process(empty_store, own) as leader:
        await leader.lead()
        await PostgresMembership(leader.database).join(WorkerRegistration("w"))
        own.offset_s -= 3600.0
        seen_at = worker.database.now()
        await worker.database.fetch(
            "UPDATE worker SET joined_at = joined_at - 7200, seen_at = ? RETURNING 1", (seen_at,)
        )
        await leader.clock.follow(leader.epoch)
        assert (await worker.clock.status()).doubt is None
        behind = worker.database.now() - await leader.follow()
        assert behind == pytest.approx(3600.0, abs=10.0)
        own.offset_s += GIVE_UP_S
        assert await leader.follow() == pytest.approx(worker.database.now(), abs=10.0)


async def test_an_admin_confirms_the_clock(steady: SteadyClock, leader: Process, worker: Process) -> None:
    steady.offset_s -= 300 * DAY_S
    await leader.clock.follow(leader.epoch)
    await worker.follow()
    status = await worker.clock.confirm("ann")
    assert status.doubt is None
    assert worker.database.now() == pytest.approx(status.wall_now, abs=10.0)
    assert await leader.follow() == pytest.approx(status.wall_now, abs=10.0)
    newest = (await AuditLog(worker.database).entries())[0]
    assert (newest.actor, newest.action) == ("ann", "clock.followed")


async def test_a_process_compares_its_time_while_it_works(steady: SteadyClock, leader: Process) -> None:
    await leader.clock.confirm("ann")
    await leader.database.fetch("UPDATE clock SET shift_s = 3600, steps = steps + 1 RETURNING 1")
    before = leader.database.now()
    steady.offset_s += FOLLOW_S
    await leader.database.fetch("SELECT 1")
    async with asyncio.timeout(WAIT_S):
        while leader.database.now() < before + 3500.0:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
