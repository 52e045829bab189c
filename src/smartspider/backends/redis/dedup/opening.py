"""Open the URL filters of an installation on its Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from smartspider.backends.redis.address import RedisAddress
from smartspider.backends.redis.dedup.bloom import RedisBloomFilter
from smartspider.backends.redis.dedup.estimates import RedisDistinctEstimates
from smartspider.backends.redis.dedup.exact import BUDGET, RedisUrlFilter
from smartspider.backends.redis.dedup.functions import FilterFunctions
from smartspider.backends.redis.servers import open_servers
from smartspider.dedup.url_filter import FilterStack

PARTS_ON_CLUSTER = 16


@asynccontextmanager
async def open_filters(address: RedisAddress, *, max_bytes: int = BUDGET) -> AsyncIterator[FilterStack]:
    """Open the filters at an address; connections are opened on first use. Each kind has a budget of
    `max_bytes`.
    """
    servers = open_servers(address)
    parts = PARTS_ON_CLUSTER if address.kind == "cluster" else 1
    functions = FilterFunctions(servers, namespace=address.namespace, parts=parts)
    try:
        yield FilterStack(
            exact=RedisUrlFilter(functions, max_bytes=max_bytes),
            lossy=RedisBloomFilter(functions, max_bytes=max_bytes),
            estimates=RedisDistinctEstimates(functions),
        )
    finally:
        await servers.close()
