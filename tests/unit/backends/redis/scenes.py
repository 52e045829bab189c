"""A frontier on a real Redis over a store in memory, kept armed by a keeper that never sleeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from tests.unit.backends.redis.memory import MemoryRows

from smartspider.backends.redis import library
from smartspider.backends.redis.address import RedisAddress, read_url
from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.backends.redis.frontier_index import RedisIndex
from smartspider.backends.redis.servers import RedisServers, open_servers
from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.updates import QueuePosition, RunControl
from smartspider.core.requests.request import Request, make_request
from smartspider_testing.clock import ManualClock

LONG_AGO_S = 86_400.0


class HandClock(ManualClock):
    """Store time goes on with it, whatever is done to the machine's."""

    def __init__(self) -> None:
        super().__init__()
        self._shift = self.now() - self.monotonic()

    def store_now(self) -> float:
        """Seconds since 1970 by the store."""
        return self.monotonic() + self._shift

    def return_home(self, seconds: float) -> None:
        """Set store time back."""
        self._shift -= seconds


class KeptShards(Shards):
    """Before every round the servers' clocks are put right and all that a keeper does is done."""

    def __init__(self, address: RedisAddress, keeper: Keeper, servers: RedisServers) -> None:
        super().__init__(address, servers=servers, code=library.source(is_settable=True))
        self._keeper = keeper

    async def round(self, calls: Sequence[Call]) -> list[Any]:
        await self._keeper.keep()
        return await super().round(calls)


class Keeper:
    """Arms shards long ago, so that no host waits for it; then goes on renewing."""

    def __init__(self, address: RedisAddress, rows: MemoryRows, clock: HandClock) -> None:
        self.rows = rows
        self.clock = clock
        self.servers = open_servers(address)
        self.shards = Shards(address, servers=self.servers, code=library.source(is_settable=True))
        self.index = RedisIndex(self.shards)
        self.epoch = 1
        self._controls: list[RunControl] = []
        self._moment = 0.0
        self.is_on = True

    async def turn(self, moment: float | None = None) -> None:
        """Set the clocks of the servers."""
        now = self.clock.store_now() if moment is None else moment
        tags = [self.shards.tag(shard) for shard in range(self.shards.count)]
        await self.servers.calls([(tag, ["SET", f"{tag}:wall", repr(now)]) for tag in tags])

    async def start(self, ago_s: float = LONG_AGO_S) -> None:
        """Load and arm all shards, as if that had been a while ago."""
        then = self.clock.store_now() - ago_s
        await self.turn(then)
        for shard in range(self.shards.count):
            await self.index.begin(shard, self.epoch)
            hosts = [host for host in await self.rows.hosts() if self.index.shard_of(host.name) == shard]
            await self.index.set_hosts(shard, self.epoch, hosts)
            await self.set_controls(shard)
            for run_id in self.rows.runs:
                await self.replay(shard, run_id)
            await self.index.arm(shard, self.epoch, then)
        self._moment = 0.0

    async def set_controls(self, shard: int) -> None:
        self._controls = await self.rows.controls()
        await self.index.set_controls(shard, self.epoch, self._controls)

    async def replay(self, shard: int, run_id: int) -> int:
        places = [
            row.place for row in self.rows.open_rows(run_id) if self.index.shard_of(row.request.host) == shard
        ]
        return await self.index.replay(shard, self.epoch, run_id, places)

    async def renew(self) -> None:
        await self.turn()
        for shard in range(self.shards.count):
            await self.index.arm(shard, self.epoch, self.clock.store_now())

    async def keep(self) -> None:
        """Renew when time went on, write controls when they changed."""
        if not self.is_on:
            return
        if self._moment != self.clock.store_now():
            await self.renew()
            self._moment = self.clock.store_now()
        known = {control.run_id for control in self._controls}
        controls = await self.rows.controls()
        if controls != self._controls:
            for shard in range(self.shards.count):
                await self.set_controls(shard)
                for run_id in {control.run_id for control in controls} - known:
                    await self.replay(shard, run_id)


class Scene:
    """Everything a test of the frontier needs, one worker process deep."""

    def __init__(self, url: str) -> None:
        self.clock = HandClock()
        self.address = read_url(url)
        self.rows = MemoryRows(self.clock.store_now)
        self.keeper = Keeper(self.address, self.rows, self.clock)
        self.index = self.keeper.index
        self.shards = KeptShards(self.address, self.keeper, self.keeper.servers)
        self.frontier = self.another_frontier()

    def another_frontier(self, **more: Any) -> RedisFrontier:
        """The same as another process sees it."""
        return RedisFrontier(self.shards, self.rows, self.rows, self.rows, self.clock, **more)

    async def begin(self, requests: Sequence[Request | str], **knobs: Any) -> int:
        """A run that is known to the frontier, with its first rows queued."""
        run_id = self.rows.add_run([url(one) if isinstance(one, str) else one for one in requests], **knobs)
        await self.keeper.keep()
        return run_id

    async def take(self, worker_id: int, *runs: int, want: int = 64) -> list[Lease]:
        """What may leave now."""
        return (await self.frontier.lease(worker_id, want, runs)).leases

    def close(self, *leases: Lease) -> None:
        """Pages are stored."""
        for lease in leases:
            self.rows.rows[lease.url_id].state = "done"

    async def let_go(self) -> int:
        """Look once at all hosts whether anybody asks for them; how many went."""
        await self.keeper.keep()
        gone = 0
        for shard in range(self.index.shards):
            cursor, is_first = "", True
            while cursor or is_first:
                cursor, went = await self.index.evict_idle_hosts(shard, self.keeper.epoch, cursor)
                gone, is_first = gone + went, False
        return gone

    async def kept(self) -> set[str]:
        """What is there about single hosts, but for which runs were there."""
        prefix = f"{self.shards.tag(0)}:"
        names = {key.decode().removeprefix(prefix) for key in await self.raw("KEYS", "*")}
        return {name for name in names if name.partition(":")[0] in ("h", "s", "f", "fd", "dw")}

    async def raw(self, *command: Any, shard: int = 0) -> Any:
        """A command to the server of a shard."""
        (answer,) = await self.keeper.servers.calls([(self.shards.tag(shard), list(command))])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def end(self) -> None:
        """Let go of everything."""
        await self.keeper.servers.close()


def url(path: str, *, host: str = "a.example", priority: int = 0) -> Request:
    """A request for a page of a host."""
    return make_request(f"http://{host}/{path}", priority=priority)


def urls(count: int, *, host: str = "a.example") -> list[Request]:
    """Requests for so many pages."""
    return [url(f"p{number}", host=host) for number in range(count)]


def place_of(lease: Lease, due_at: float = 0.0) -> QueuePosition:
    """Where a lease's request goes back to."""
    return QueuePosition(lease.url_id, lease.request.host, -lease.request.priority, due_at, lease.is_alone)


def later(lease: Lease, seconds: float) -> Lease:
    """The lease as it would be with another token."""
    token = msgspec.structs.replace(lease.token, counter=lease.token.counter + int(seconds))
    return msgspec.structs.replace(lease, token=token)
