from __future__ import annotations

import asyncio

import pytest

from smartspider.interfaces.clock import Clock
from smartspider_testing.clock import ManualClock
from smartspider_testing.waiting import WAIT_S


def _as_clock(clock: ManualClock) -> Clock:
    return clock


async def test_time_stands_still_until_it_is_advanced() -> None:
    clock = ManualClock(now=100.0, monotonic=5.0)
    assert (_as_clock(clock).now(), clock.monotonic()) == (100.0, 5.0)
    await clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 7.5)


async def test_sleepers_wake_in_order_each_at_its_own_moment() -> None:
    clock = ManualClock(monotonic=0.0)
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper("late", 3.0))
        group.create_task(sleeper("early", 1.0))
        group.create_task(sleeper("same", 1.0))
        await clock.until_asleep(3)
        await clock.advance(0.5)
        assert woken == []
        await clock.advance(5.0)
    assert woken == [("early", 1.0), ("same", 1.0), ("late", 3.0)]


async def test_a_sleeper_that_lies_down_again_is_woken_again_within_one_advance() -> None:
    clock = ManualClock(monotonic=0.0)
    beats: list[float] = []

    async def beat() -> None:
        while len(beats) < 4:
            await clock.sleep(1.0)
            beats.append(clock.monotonic())

    task = asyncio.create_task(beat())
    await clock.advance(3.5)
    assert beats == [1.0, 2.0, 3.0]
    await clock.advance(0.5)
    await task
    assert beats == [1.0, 2.0, 3.0, 4.0]


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep(10.0))
    await clock.until_asleep()
    assert clock.next_wake_s == pytest.approx(10.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.sleepers == 0
    assert clock.next_wake_s is None
    await clock.advance(20.0)


async def test_no_time_is_slept_at_once() -> None:
    clock = ManualClock()
    async with asyncio.timeout(WAIT_S):
        await clock.sleep(0.0)
        await clock.sleep(-1.0)


async def test_the_wall_clock_can_be_wound_and_monotonic_does_not_notice() -> None:
    clock = ManualClock(now=100.0, monotonic=5.0)
    clock.wind(-50.0)
    assert (clock.now(), clock.monotonic()) == (50.0, 5.0)
    with pytest.raises(ValueError, match="forward"):
        await clock.advance(-1.0)
