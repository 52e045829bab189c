"""The cost of a crawled URL in the frontier's Redis, and the size of a pending URL and of a host.

    python benchmarks/redis_frontier.py [--urls 20000] [--batch 100] [--hosts 20000]

Offer, lease and ack of every URL through `RedisFrontier` on a Redis of its own; seconds of CPU and memory are
the own figures of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from smartspider.backends.redis import library
from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.calls import offer_calls
from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.backends.redis.frontier_index import RedisIndex
from smartspider.backends.redis.shards import Shards
from smartspider.core.frontier.updates import FrontierUpdate, OpenRequest, QueuePosition, RunControl
from smartspider.core.requests.request import Request, make_request
from smartspider.core.runs.run import first_id
from smartspider_testing.servers import RedisServer

RUN = 1
CAP = 1_000_000
PENDING = 200_000
LONG_S = 3_600.0


class Clock:
    """The machine's clock."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)


class AllOpen:
    """A store in which every row is open."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._requests = [make_request(f"http://{host}/") for host in hosts]

    def request(self, url_id: int) -> Request:
        return self._requests[url_id % len(self._requests)]

    async def requests(self, url_ids: Sequence[int]) -> dict[int, OpenRequest]:
        return {url_id: OpenRequest(self.request(url_id), 0, 0) for url_id in url_ids}


class Bench:
    """A frontier, armed, with one run."""

    def __init__(
        self, server: RedisServer, hosts: int, per_host: int = 1_000, *, is_settable: bool = False
    ) -> None:
        self.server = server
        names = [f"h{number}.example{number}.com" for number in range(hosts)]
        self.rows = cast("Any", AllOpen(names))
        self.shards = Shards(read_url(server.url), code=library.source(is_settable=is_settable))
        self._ahead_s = 0.0
        self.index = RedisIndex(self.shards, cap=CAP)
        self.frontier = RedisFrontier(self.shards, self.rows, self.rows, self.rows, Clock(), cap=CAP)
        self.control = RunControl(RUN, "running", 1, 10_000, 0.0, per_host, None)

    async def arm(self) -> None:
        if (await self.index.shard_state(0)).epoch == 0:  # type: ignore[union-attr] # it answers
            await self.index.begin(0, 1)
            await self.index.set_controls(0, 1, [self.control])
        await self.index.arm(0, 1, time.time() + self._ahead_s)

    async def pass_time(self, seconds: float) -> None:
        """Advance the clocks of store and server."""
        self._ahead_s += seconds
        self.server.command("SET", f"{self.shards.tag(0)}:wall", repr(time.time() + self._ahead_s))
        await self.arm()

    def places(self, first: int, count: int) -> list[QueuePosition]:
        numbers = range(first, first + count)
        return [
            QueuePosition(first_id(RUN) + number, self.rows.request(first_id(RUN) + number).host, 0)
            for number in numbers
        ]

    async def crawl(self, urls: int, batch: int) -> dict[str, float]:
        """Offer, lease and ack every URL."""
        await self.arm()
        spent = {}
        before = self.server.cpu_s()
        for start in range(0, urls, batch):
            for call in offer_calls(self.shards, self.places(start + 1, batch), CAP):
                await self.shards.call(call.shard, call.name, *call.args)
            await self.arm()
        spent["offer"] = self.server.cpu_s() - before
        before = self.server.cpu_s()
        got = 0
        while got < urls:
            leases = (await self.frontier.lease(1, batch, [RUN])).leases
            got += len(leases)
            await self.frontier.apply(FrontierUpdate(ended=leases))
            await self.arm()
        spent["lease_and_ack"] = self.server.cpu_s() - before
        spent["all"] = sum(spent.values())
        return {f"{name}_us": round(seconds / urls * 1e6, 1) for name, seconds in spent.items()}

    async def weigh(self) -> float:
        """Return the bytes of a pending URL."""
        await self.arm()
        before = self.server.memory_bytes()
        for start in range(0, PENDING, 500):
            for call in offer_calls(self.shards, self.places(start + 1, 500), CAP):
                await self.shards.call(call.shard, call.name, *call.args)
            await self.arm()
        return round((self.server.memory_bytes() - before) / PENDING, 1)

    async def let_go(self) -> int:
        """Remove idle hosts. Return their number."""
        cursor, gone = await self.index.evict_idle_hosts(0, 1)
        while cursor:
            cursor, went = await self.index.evict_idle_hosts(0, 1, cursor)
            gone += went
        return gone


async def broad(folder: Path, hosts: int, batch: int) -> dict[str, float]:
    """Crawl with a host per URL, then remove idle hosts."""
    with RedisServer(folder / "broad") as server:
        bench = Bench(server, hosts, is_settable=True)
        await bench.arm()
        before = server.memory_bytes()
        figures = await bench.crawl(hosts, batch)
        figures["bytes_per_host"] = round((server.memory_bytes() - before) / hosts, 1)
        await bench.pass_time(LONG_S)
        spent = server.cpu_s()
        gone = await bench.let_go()
        figures["let_go_us"] = round((server.cpu_s() - spent) / gone * 1e6, 1)
        figures["bytes_per_host_let_go"] = round((server.memory_bytes() - before) / hosts, 1)
        await bench.shards.close()
    return figures


async def measure(folder: Path, urls: int, batch: int, broad_hosts: int) -> dict[str, Any]:
    figures: dict[str, Any] = {"urls": urls, "batch": batch}
    for hosts in (1, 200):
        with RedisServer(folder / str(hosts)) as server:
            bench = Bench(server, hosts)
            figures[f"{hosts} hosts"] = await bench.crawl(urls, batch)
            await bench.shards.close()
        with RedisServer(folder / f"{hosts}-pending") as server:
            bench = Bench(server, hosts)
            figures[f"{hosts} hosts"]["bytes_per_pending"] = await bench.weigh()
            await bench.shards.close()
    with RedisServer(folder / "spread") as server:
        bench = Bench(server, 200, per_host=1)
        figures["200 hosts, one at a time"] = await bench.crawl(urls, batch)
        await bench.shards.close()
    figures[f"{broad_hosts} hosts, one URL each"] = await broad(folder, broad_hosts, batch)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--hosts", type=int, default=20_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measure(Path(folder), options.urls, options.batch, options.hosts))
        print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
