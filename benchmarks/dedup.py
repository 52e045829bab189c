"""The cost of URL filters in front of the store's unique key: bytes a URL, microseconds a lookup, errors.

python benchmarks/dedup.py [--urls 3000000] [--errors 10000000]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.dedup.bloom import RedisBloomFilter
from smartspider.backends.redis.dedup.exact import RedisUrlFilter
from smartspider.backends.redis.dedup.functions import FilterFunctions
from smartspider.backends.redis.servers import open_servers
from smartspider.dedup.url_filter import FilterKey, UrlFilter
from smartspider_testing.servers import RedisServer
from smartspider_testing.servers.redis.client import RedisClient

SIZES = (1_000, 100_000, 1_000_000, 3_000_000)
BATCH = 100
BATCH_ADDED = 500
ASKED = 50_000
RUN = FilterKey("run", 1, "bench")


def fingerprints(first: int, count: int) -> list[bytes]:
    """As uniform as those of requests; four to a digest, to spend the time on what is measured."""
    found: list[bytes] = []
    for number in range(first // 4, (first + count) // 4 + 1):
        digest = blake2b(b"%d" % number, digest_size=64).digest()
        found += [digest[:16], digest[16:32], digest[32:48], digest[48:]]
    return found[first % 4 : first % 4 + count]


def batches(first: int, last: int, size: int) -> Iterator[list[bytes]]:
    for start in range(first, last, size):
        yield fingerprints(start, min(size, last - start))


async def bytes_a_url(server: RedisServer, layer: UrlFilter, name: str, most: int) -> None:
    server.empty()
    await layer.find_known(RUN, fingerprints(0, 1))
    there = 0
    for size in (size for size in SIZES if size <= most):
        cpu, longest = server.cpu_s(), 0.0
        for batch in batches(there, size, BATCH_ADDED):
            began = time.perf_counter()
            await layer.add(RUN, batch)
            longest = max(longest, time.perf_counter() - began)
        spent = (server.cpu_s() - cpu) / (size - there) * 1e6
        there = size
        print(
            f"{name:>6} {size:>9,} URLs: {of_keys(server) / size:6.1f} bytes a URL;"
            f" adding {spent:5.1f} µs of server CPU each,"
            f" longest batch of {BATCH_ADDED} {longest * 1000:.0f} ms"
        )
    for what, first in (("known", 0), ("new", most + 1_000_000)):
        cpu, own, wall = server.cpu_s(), time.process_time(), time.perf_counter()
        for batch in batches(first, first + ASKED, BATCH):
            await layer.find_known(RUN, batch)
        figures = [server.cpu_s() - cpu, time.process_time() - own, time.perf_counter() - wall]
        there_, here, all_in_all = (figure / ASKED * 1e6 for figure in figures)
        print(
            f"{name:>6} asking for {what} URLs by {BATCH}:"
            f" server {there_:.1f}, client {here:.1f}, wall {all_in_all:.1f} µs each"
        )


def of_keys(server: RedisServer) -> int:
    """Return the memory of all keys with their values and table entries."""
    with RedisClient(server.port) as connection:
        names = connection("KEYS", "*")
        assert isinstance(names, list)
        return sum(int(str(connection("MEMORY", "USAGE", name, "SAMPLES", "0"))) + 16 for name in names)


async def errors(bloom: UrlFilter, count: int) -> None:
    added = wrong = 0
    for batch in batches(0, count, 10_000):
        answer = await bloom.add(RUN, batch)
        added += answer.new
    for batch in batches(2_000_000_000, 2_000_000_000 + count, 10_000):
        wrong += len(await bloom.find_known(RUN, batch))
    print(
        f" bloom {count:>10,} URLs: {answer.size.bytes_used / count:.2f} bytes a URL,"
        f" {count - added} of {count:,} not added because taken for known,"
        f" then {wrong} of {count:,} new ones taken for known: {wrong / count:.6%}"
    )


async def measure(urls: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder)) as server:
        servers = open_servers(read_url(server.url))
        functions = FilterFunctions(servers)
        ample = 10_000_000_000
        await bytes_a_url(server, RedisUrlFilter(functions, max_bytes=ample), "exact", urls)
        bloom = RedisBloomFilter(functions, max_bytes=ample)
        await bytes_a_url(server, bloom, "bloom", urls)
        if count:
            await bloom.drop(RUN)
            await errors(bloom, count)
        await servers.close()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--urls", type=int, default=SIZES[-1])
    asked.add_argument("--errors", type=int, default=10_000_000)
    chosen = asked.parse_args()
    os.nice(5)
    asyncio.run(measure(chosen.urls, chosen.errors))


if __name__ == "__main__":
    main()
