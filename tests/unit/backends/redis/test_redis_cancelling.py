"""Who is cancelled in the middle of a call ends, whatever the client makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.dedup.functions import FilterFunctions
from smartspider.backends.redis.servers import open_servers
from smartspider.backends.redis.shards import Call, Shards
from smartspider_testing.servers import RedisServer

TIMES = 300
STEPS = 12
"""Turns of the event loop within a call and a part of the next."""


async def test_nobody_goes_on_calling_the_frontier_who_was_cancelled(empty_redis: RedisServer) -> None:
    shards = Shards(read_url(empty_redis.url))
    try:
        await _cancelled_at_every_step(lambda: shards.round([Call(0, "look")]))
    finally:
        await shards.close()


async def test_nobody_goes_on_asking_what_is_known_who_was_cancelled(empty_redis: RedisServer) -> None:
    servers = open_servers(read_url(empty_redis.url))
    functions = FilterFunctions(servers)
    try:
        await _cancelled_at_every_step(lambda: functions.round([functions.command(0, "EXISTS", "nothing")]))
    finally:
        await servers.close()


async def _cancelled_at_every_step(call: Callable[[], Awaitable[object]]) -> None:
    async def calling() -> None:
        while True:
            await call()

    for number in range(TIMES):
        task = asyncio.create_task(calling())
        for _ in range(number % STEPS + 1):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=5.0)
        assert done, f"it goes on after {number % STEPS + 1} steps"
        assert task.cancelled()
