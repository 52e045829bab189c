"""The layers of an installation on its Redis, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from smartspider.backends.redis.connecting import Address
from smartspider.backends.redis.seen.bloom import RedisBloom
from smartspider.backends.redis.seen.estimates import RedisEstimates
from smartspider.backends.redis.seen.exact import BUDGET, RedisSeen
from smartspider.backends.redis.seen.front import RedisFront
from smartspider.backends.redis.seen.functions import SeenFunctions
from smartspider.backends.redis.servers import open_servers
from smartspider.interfaces.seen import Layers

PARTS_ON_CLUSTER = 16

Mode = Literal["off", "exact", "exact+bloom"]
"""What all tasks share: nothing, the exact set, or that with a Bloom filter before it."""


@asynccontextmanager
async def open_layers(
    address: Address, mode: Mode = "off", *, max_bytes: int = BUDGET
) -> AsyncIterator[Layers]:
    """Layers at an address, closed at the end; nothing is sent before one is used. Each kind may take
    `max_bytes`. The lossy one is always there, for tasks that name it.
    """
    servers = open_servers(address)
    parts = PARTS_ON_CLUSTER if address.kind == "cluster" else 1
    functions = SeenFunctions(servers, namespace=address.namespace, parts=parts)
    bloom = RedisBloom(functions, max_bytes=max_bytes)
    try:
        yield Layers(
            exact=None if mode == "off" else RedisSeen(functions, max_bytes=max_bytes),
            front=RedisFront(functions, bloom) if mode == "exact+bloom" else None,
            lossy=bloom,
            estimates=RedisEstimates(functions),
        )
    finally:
        await servers.close()
