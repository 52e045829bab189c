"""One keeper leads, and what it does while it does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from tests.unit.keeper.conftest import Harness

from smartspider.core.errors import StoreUnavailable
from smartspider.interfaces.leadership import Leadership, Term
from smartspider.keeper.keeper import POLL_S, TERM_S, Duty, Keeper, leader_name


class Counting:
    """A duty that counts how often it was done, and in which term."""

    name = "counting"

    def __init__(self, every_s: float = 1.0, error: Exception | None = None) -> None:
        self.every_s = every_s
        self.error = error
        self.terms: list[int] = []

    async def do(self, term: Term) -> None:
        self.terms.append(term.epoch)
        if self.error is not None:
            raise self.error


class Deaf:
    """A duty that goes on as if nobody had cancelled it."""

    name = "deaf"
    every_s = 0.7

    async def do(self, term: Term) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


@asynccontextmanager
async def keeping(
    harness: Harness, owner: str, *duties: Duty, by: Leadership | None = None
) -> AsyncIterator[None]:
    task = asyncio.create_task(Keeper(owner, by or harness.backend.leadership, duties, harness.clock).run())
    await harness.clock.until_asleep()
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.fixture(autouse=True)
async def nobody_leads(harness: Harness) -> None:
    await harness.backend.leadership.resign("tests")


async def test_duties_are_done_at_their_pace_while_the_term_is_renewed(harness: Harness) -> None:
    often, seldom = Counting(1.0), Counting(20.0)
    async with keeping(harness, "one", often, seldom):
        await harness.clock.advance(60.5)
        assert len(often.terms) == 61
        assert len(seldom.terms) == 4
        assert len(set(often.terms)) == 1
    assert await harness.backend.leadership.current() is None  # it resigned


async def test_one_of_two_keepers_does_the_duties(harness: Harness) -> None:
    one, two = Counting(), Counting()
    other = await harness.backend.another()
    async with keeping(harness, "one", one), keeping(harness, "two", two, by=other.leadership):
        await harness.clock.advance(30.0)
        assert bool(one.terms) != bool(two.terms)


async def test_a_keeper_that_goes_in_good_order_is_followed_at_once(harness: Harness) -> None:
    one, two = Counting(), Counting()
    other = await harness.backend.another()
    async with AsyncExitStack() as later:
        async with keeping(harness, "one", one):
            await harness.clock.advance(0.5)
            await later.enter_async_context(keeping(harness, "two", two, by=other.leadership))
            await harness.clock.advance(5.0)
        assert two.terms == []
        await harness.clock.advance(POLL_S)
        assert two.terms == [one.terms[0] + 1]


async def test_a_keeper_says_once_that_it_stands_by_and_once_that_it_leads(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "smartspider.keeper"]

    dead = await harness.backend.leadership.take("crawler-1:812:f00d", TERM_S)
    assert dead is not None
    with caplog.at_level(logging.INFO):
        async with keeping(harness, "one", Counting()):
            await harness.clock.advance(TERM_S - 0.5)
            (line,) = told()
            assert line.startswith("on standby: ")
            assert f"the keeper on crawler-1 (pid 812) is the leader, term {dead.epoch};" in line
            await harness.clock.advance(5 * TERM_S)
            assert told()[1:] == [f"became leader, term {dead.epoch + 1}"]


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("crawler-1:812:f00d", "the keeper on crawler-1 (pid 812)"),
        ("fsck:crawler-1:812", "fsck:crawler-1:812"),
        ("", "another keeper"),
    ],
)
def test_a_leader_is_called_so_that_people_find_it(owner: str, name: str) -> None:
    assert leader_name(owner) == name


async def test_a_keeper_goes_in_good_order_whatever_its_duties_make_of_it(harness: Harness) -> None:
    async with keeping(harness, "one", Deaf(), Counting()):
        assert await harness.backend.leadership.current() is not None
    assert await harness.backend.leadership.current() is None


async def test_a_dead_leader_is_followed_when_its_term_is_over(harness: Harness) -> None:
    dead = await harness.backend.leadership.take("dead", TERM_S)
    assert dead is not None
    duty = Counting()
    async with keeping(harness, "one", duty):
        await harness.clock.advance(TERM_S - 0.5)
        assert duty.terms == []
        await harness.clock.advance(POLL_S + 0.5)
        assert duty.terms
        assert set(duty.terms) == {dead.epoch + 1}


@pytest.mark.parametrize("error", [StoreUnavailable("the disk is full"), ValueError("a mistake")])
async def test_a_duty_that_fails_is_told_and_stops_no_other(
    harness: Harness, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = Counting(1.0, error), Counting(1.0)
    with caplog.at_level(logging.WARNING):
        async with keeping(harness, "one", bad, good):
            await harness.clock.advance(10.5)
    assert len(bad.terms) == len(good.terms) == 11
    assert "counting failed" in caplog.text


class Unreachable:
    """A leader row that cannot be written from some moment on."""

    def __init__(self, inner: Leadership) -> None:
        self._inner = inner
        self.is_broken = False
        self.hangs = False

    async def take(self, owner: str, term_s: float) -> Term | None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_broken:
            raise StoreUnavailable("the disk is full")
        return await self._inner.take(owner, term_s)

    async def resign(self, owner: str) -> None:
        await self._inner.resign(owner)

    async def current(self) -> Term | None:
        return await self._inner.current()

    async def newest(self) -> Term:
        return await self._inner.newest()

    async def check(self, epoch: int) -> None:
        await self._inner.check(epoch)


async def test_a_term_that_cannot_be_renewed_ends_all_duties(harness: Harness) -> None:
    leadership, duty = Unreachable(harness.backend.leadership), Counting()
    async with keeping(harness, "one", duty, by=leadership):
        await harness.clock.advance(2.5)
        leadership.is_broken = True
        await harness.clock.advance(TERM_S + 5)
        done = len(duty.terms)
        assert done <= TERM_S + 3
        await harness.clock.advance(30.0)
        assert len(duty.terms) == done
        leadership.is_broken = False
        await harness.clock.advance(5.0)
        assert duty.terms[-1] == duty.terms[0] + 1


async def test_duties_end_with_the_term_also_while_renewing_it_hangs(harness: Harness) -> None:
    """As when the store is locked by another program for long."""
    leadership, duty = Unreachable(harness.backend.leadership), Counting()
    async with keeping(harness, "one", duty, by=leadership):
        leadership.hangs = True
        await harness.clock.advance(5 * TERM_S)
        assert len(duty.terms) <= TERM_S + 1


async def test_who_finds_that_another_leads_stops_in_the_middle_of_a_duty(harness: Harness) -> None:
    """As after a machine that stood still: the term is over, another one leads."""

    class Long:
        name, every_s = "long", 1.0
        reached: list[str] = []

        async def do(self, term: Term) -> None:
            self.reached.append("begun")
            await harness.clock.sleep(1e6)
            self.reached.append("ended")

    duty = Long()
    async with keeping(harness, "one", duty):
        await harness.clock.advance(0.5)
        await harness.backend.leadership.resign("one")
        other = await harness.backend.leadership.take("other", 1e6)
        assert other is not None
        await harness.clock.advance(4.0)
        assert duty.reached == ["begun"]
        assert harness.clock.sleepers == 1  # it only looks now
        assert await harness.backend.leadership.current() == other
