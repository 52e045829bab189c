"""Duties that are due at the same time wake the keeper once."""

from __future__ import annotations

import asyncio

from smartspider.keeper.keeper import AlignedTimer
from smartspider_testing.clock import ManualClock


async def test_those_who_wait_for_the_same_moment_sleep_as_one_and_wake_together() -> None:
    clock = ManualClock(monotonic=100.3)
    woken: list[tuple[str, float]] = []

    async def repeat(name: str, every_s: float) -> None:
        while True:
            await timer.wait(every_s)
            woken.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        timer = AlignedTimer(clock, group)
        tasks = [group.create_task(repeat(name, every_s)) for name, every_s in (("a", 1.0), ("b", 0.5))]
        tasks.append(group.create_task(repeat("c", 1.0)))
        await clock.until_asleep(2)
        assert clock.sleepers == 2, "three wait, two of them for the same moment"
        await clock.advance(1.7)
        for task in (*tasks, *timer.pending):
            task.cancel()
    assert woken == [
        *(("b", 100.5),),
        *(("a", 101.0), ("c", 101.0), ("b", 101.0)),
        *(("b", 101.5),),
        *(("a", 102.0), ("c", 102.0), ("b", 102.0)),
    ]


async def test_what_took_nearly_its_whole_time_is_not_done_again_at_once() -> None:
    clock = ManualClock(monotonic=100.9)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(AlignedTimer(clock, group).wait(1.0))
        await clock.until_asleep()
        await clock.advance(0.9)
        assert not waiting.done()
        await clock.advance(0.3)
        assert waiting.done()


async def test_who_stops_waiting_keeps_nobody_else_from_it() -> None:
    clock = ManualClock(monotonic=100.0)
    async with asyncio.TaskGroup() as group:
        timer = AlignedTimer(clock, group)
        first, second = (group.create_task(timer.wait(1.0)) for _ in range(2))
        await clock.until_asleep()
        first.cancel()
        await clock.advance(1.0)
        assert second.done()
        assert not second.cancelled()
