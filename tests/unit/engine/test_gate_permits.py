"""A request leaves inside its window, or waits for another one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import cast

import pytest

from smartspider.core import failpoints
from smartspider.core.frontier.lease import GateClosed, SendWindow
from smartspider.core.frontier.verdict import PreviousSend, SentRequest
from smartspider.engine.permits import GatePermit
from smartspider.interfaces.frontier import Frontier
from smartspider_testing.clock import ManualClock

HOST = "h.example"
FREE = SendWindow(0.0, 0.0, 0.0)


class Gates:
    """The part of a frontier that permits use: windows are handed out as the test laid them down."""

    def __init__(self, *windows: SendWindow | GateClosed) -> None:
        self._windows = list(windows)
        self.asked: list[str] = []

    async def permit(self, host: str) -> SendWindow | GateClosed:
        self.asked.append(host)
        return self._windows.pop(0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(now=5_000.0, monotonic=100.0)


@pytest.fixture
def sent() -> Iterator[list[str]]:
    reached: list[str] = []
    failpoints.arm(reached.append)
    yield reached
    failpoints.arm(None)


def permit(gates: Gates, clock: ManualClock, window: SendWindow | None) -> GatePermit:
    return GatePermit(cast("Frontier", gates), clock, HOST, window)


async def leave(permit: GatePermit) -> None:
    """Enter, and let the request go."""
    await permit.enter()
    permit.sent()


async def test_inside_the_window_it_leaves_at_once(clock: ManualClock, sent: list[str]) -> None:
    gates = Gates()
    one = permit(gates, clock, SendWindow(100.0, 100.05, 1.0))
    await leave(one)
    assert one.sends == (SentRequest(HOST, 100.0, 1.0),)
    assert gates.asked == []
    assert sent == ["fetch.sent"]


async def test_it_waits_for_the_window_to_open(clock: ManualClock, sent: list[str]) -> None:
    one = permit(Gates(), clock, SendWindow(102.0, 102.05, 1.0))
    entering = asyncio.create_task(leave(one))
    await clock.until_asleep()
    await clock.advance(1.9)
    assert not entering.done()
    assert sent == []
    await clock.advance(0.1)
    await entering
    assert one.sends == (SentRequest(HOST, 102.0, 1.0),)


async def test_a_timer_that_wakes_early_does_not_miss_the_window() -> None:
    class Hasty(ManualClock):
        async def sleep(self, seconds: float) -> None:
            self._move_to(self.monotonic() + (seconds - 0.001 if seconds > 0.002 else seconds))

    hasty, gates = Hasty(now=5_000.0, monotonic=100.0), Gates()
    one = permit(gates, hasty, SendWindow(101.0, 101.05, 1.0))
    await leave(one)
    assert gates.asked == []
    assert hasty.monotonic() >= 101.0
    assert len(one.sends) == 1


async def test_a_missed_window_is_replaced_by_the_next_one(clock: ManualClock) -> None:
    gates = Gates(SendWindow(90.0, 90.05, 1.0), SendWindow(101.0, 101.05, 1.0))
    one = permit(gates, clock, SendWindow(99.0, 99.05, 1.0))
    entering = asyncio.create_task(leave(one))
    await clock.until_asleep()
    await clock.advance(1.0)
    await entering
    assert gates.asked == [HOST, HOST]
    assert one.sends == (SentRequest(HOST, 101.0, 1.0),)


async def test_the_last_moment_of_a_window_is_inside_it(clock: ManualClock) -> None:
    gates = Gates()
    await leave(permit(gates, clock, SendWindow(99.0, 100.0, 1.0)))
    assert gates.asked == []


async def test_a_free_window_never_waits_and_leaves_no_trace_on_the_receipt(clock: ManualClock) -> None:
    gates = Gates(FREE)
    one = permit(gates, clock, FREE)
    await leave(one)
    await leave(permit(gates, clock, None))
    assert clock.sleepers == 0
    assert one.sends == ()
    assert gates.asked == [HOST]


async def test_a_change_of_the_machines_time_moves_no_window(clock: ManualClock) -> None:
    gates = Gates()
    clock.wind(-3_600.0)
    one = permit(gates, clock, SendWindow(100.0, 100.05, 1.0))
    await leave(one)
    assert gates.asked == []


async def test_one_more_request_to_the_same_host_may_have_the_unused_window(clock: ManualClock) -> None:
    gates = Gates(SendWindow(100.0, 100.05, 1.0))
    page = permit(gates, clock, SendWindow(100.0, 100.05, 1.0))
    robots = page.another(HOST)
    await leave(robots)
    assert gates.asked == []
    await leave(page)
    assert gates.asked == [HOST]
    assert len(page.sends) == len(robots.sends) == 2


async def test_a_used_window_is_not_used_again_for_a_hop(clock: ManualClock) -> None:
    gates = Gates(SendWindow(101.0, 101.05, 1.0))
    page = permit(gates, clock, SendWindow(100.0, 100.05, 1.0))
    await leave(page)
    hop = page.another(HOST)
    entering = asyncio.create_task(leave(hop))
    await clock.until_asleep()
    await clock.advance(1.0)
    await entering
    assert gates.asked == [HOST]
    assert [send.at for send in page.sends] == [100.0, 101.0]


async def test_another_host_is_asked_for_its_own_window_and_the_unused_one_stays(clock: ManualClock) -> None:
    gates = Gates(SendWindow(100.0, 100.05, 2.0))
    page = permit(gates, clock, SendWindow(100.0, 100.05, 1.0))
    await leave(page.another("o.example"))
    assert gates.asked == ["o.example"]
    await leave(page)
    assert gates.asked == ["o.example"]
    assert page.sends == (SentRequest("o.example", 100.0, 2.0), SentRequest(HOST, 100.0, 1.0))


async def test_a_connection_is_opened_only_shortly_before_the_window(clock: ManualClock) -> None:
    gates = Gates(SendWindow(160.0, 160.05, 60.0))
    one = permit(gates, clock, None)
    approaching = asyncio.create_task(one.approach())
    await clock.until_asleep()
    await clock.advance(59.0)
    assert not approaching.done()
    await clock.advance(0.5)
    await approaching
    assert gates.asked == [HOST]
    assert one.sends == ()


async def test_what_was_entered_and_did_not_leave_is_not_on_the_receipt(clock: ManualClock) -> None:
    gates = Gates(SendWindow(100.0, 100.05, 1.0))
    one = permit(gates, clock, SendWindow(100.0, 100.05, 1.0))
    await one.enter()
    again = one.another(HOST)
    await leave(again)
    assert gates.asked == [HOST]
    assert len(one.sends) == 1


async def test_how_long_a_request_and_its_hops_waited_is_known(clock: ManualClock) -> None:
    one = permit(Gates(SendWindow(105.0, 105.05, 1.0)), clock, SendWindow(102.0, 102.05, 1.0))
    entering = asyncio.create_task(leave(one))
    await clock.until_asleep()
    await clock.advance(2.0)
    await entering
    hop = asyncio.create_task(leave(one.another("other.example")))
    await clock.until_asleep()
    await clock.advance(3.0)
    await hop
    assert one.waited_s == pytest.approx(5.0)


async def test_a_closed_gate_is_asked_again_until_it_opens(clock: ManualClock, sent: list[str]) -> None:
    """Once a second at least: somebody may have opened it. The time goes as waiting, not as fetching."""
    gates = Gates(GateClosed(103.5), GateClosed(103.5), GateClosed(101.2), SendWindow(102.0, 102.1, 1.0))
    one = permit(gates, clock, None)
    leaving = asyncio.create_task(leave(one))
    await clock.advance(0.9)
    assert len(gates.asked) == 1
    await clock.advance(0.2)
    assert len(gates.asked) == 2
    await clock.advance(1.0)
    await leaving
    assert len(gates.asked) == 4
    assert clock.monotonic() == pytest.approx(102.1)
    assert one.waited_s == pytest.approx(2.0)
    assert sent == ["fetch.sent"]


class Others:
    """The crawls of this machine: one of them asks for a delay after some requests."""

    def __init__(self, free: int = 0) -> None:
        self._free = free
        self.recorded: list[tuple[str, float, float]] = []

    def is_free(self, host: str) -> bool:
        assert host == HOST
        self._free -= 1
        return self._free >= 0

    def record(self, host: str, at: float, delay_s: float) -> PreviousSend | None:
        self.recorded.append((host, at, delay_s))
        return PreviousSend(at - 2.0, 1.0)


async def test_a_request_without_a_delay_takes_a_slot_once_another_crawl_asks_for_a_delay(
    clock: ManualClock,
) -> None:
    gates, others = Gates(SendWindow(103.0, 103.05, 1.0)), Others(free=1)
    page = GatePermit(cast("Frontier", gates), clock, HOST, FREE, others=others)
    await leave(page)
    assert (gates.asked, page.sends, others.recorded) == ([], (), [])
    hop = GatePermit(cast("Frontier", gates), clock, HOST, FREE, others=others)
    entering = asyncio.create_task(leave(hop))
    await clock.until_asleep()
    await clock.advance(3.0)
    await entering
    assert gates.asked == [HOST]
    assert others.recorded == [(HOST, 103.0, 1.0)]
    assert hop.sends == (SentRequest(HOST, 103.0, 1.0, PreviousSend(101.0, 1.0)),)
