"""Concurrent work is limited for each user, and those who wait get turns."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from smartspider.core.errors import TooMany
from smartspider.services.fair_limit import FairLimit, SlotLimits


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Worker:
    """Calls that hold a slot until they are let go."""

    def __init__(self, limit: FairLimit) -> None:
        self.limit = limit
        self.running: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.let: dict[str, asyncio.Event] = {}

    async def call(self, name: str) -> None:
        """Start a call of a user: `ann 1` is one of ann."""
        self.let[name] = asyncio.Event()
        self.tasks.append(asyncio.create_task(self._work(name)))
        await settle()

    async def _work(self, name: str) -> None:
        async with self.limit.turn(name.split(maxsplit=1)[0]):
            self.running.append(name)
            await self.let[name].wait()
        self.running.remove(name)

    async def end(self, name: str) -> None:
        self.let[name].set()
        await settle()


def test_a_user_beyond_the_share_is_refused_with_the_limit_and_the_time_to_wait() -> None:
    limit = FairLimit("exports", SlotLimits(total=4, retry_after_s=7.0))
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(limit.acquire("ann"))
        with pytest.raises(TooMany) as refused, limit.acquire("ann"):
            pass
        assert "ann has 2 exports running" in refused.value.message
        assert "4 for all users" in refused.value.message
        assert refused.value.retry_after_s == 7.0
        with limit.acquire("bob"):
            assert limit.in_use == 3
        assert limit.refused == 1
    assert limit.in_use == 0


def test_a_failed_call_gives_its_slot_back() -> None:
    limit = FairLimit("exports", SlotLimits(total=2))
    with pytest.raises(ValueError, match="x"), limit.acquire("ann"):
        raise ValueError("x")
    assert limit.in_use == 0


async def test_a_newcomer_passes_the_queue_of_a_greedy_user() -> None:
    work = Worker(FairLimit("previews", SlotLimits(total=2, waiting=8)))
    for number in range(4):
        await work.call(f"ann {number}")
    assert work.running == ["ann 0"]
    await work.call("bob 0")
    assert work.running == ["ann 0", "bob 0"]
    await work.call("cid 0")
    await work.end("ann 0")
    assert work.running == ["bob 0", "cid 0"]  # although ann waits longer
    await work.end("bob 0")
    await work.end("cid 0")
    assert work.running == ["ann 1"]
    for number in (1, 2, 3):
        await work.end(f"ann {number}")
    await asyncio.gather(*work.tasks)
    assert (work.limit.in_use, work.limit.waiting) == (0, 0)


async def test_the_queue_is_shared_too() -> None:
    work = Worker(FairLimit("previews", SlotLimits(total=1, waiting=4)))
    for number in range(4):
        await work.call(f"ann {number}")
    assert work.limit.waiting == 2
    with pytest.raises(TooMany, match="ann has 2 previews waiting"):
        await work.tasks[-1]
    await work.call("bob 0")
    assert work.limit.waiting == 3
    for task in work.tasks:
        task.cancel()
    await asyncio.gather(*work.tasks, return_exceptions=True)
    assert (work.limit.in_use, work.limit.waiting) == (0, 0)


async def test_a_cancelled_call_leaves_the_queue_and_passes_its_turn_on() -> None:
    work = Worker(FairLimit("previews", SlotLimits(total=1, waiting=4)))
    for name in ("ann 0", "bob 0", "cid 0"):
        await work.call(name)
    work.tasks[1].cancel()
    await settle()
    assert work.limit.waiting == 1
    work.let["ann 0"].set()
    await asyncio.sleep(0)  # granted to cid in this step, and cancelled in the same
    work.tasks[2].cancel()
    await settle()
    assert (work.limit.in_use, work.limit.waiting) == (0, 0)
    await work.call("dan 0")
    assert work.running == ["dan 0"]
    await work.end("dan 0")
