"""Leaders of a frontier on a real Redis over a store in memory, by a clock turned by hand."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from redis.exceptions import RedisError
from tests.unit.backends.redis.memory import MemoryRows
from tests.unit.backends.redis.scenes import HandClock

from smartspider.backends.redis import library
from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.frontier import RedisFrontier
from smartspider.backends.redis.frontier_index import RedisIndex
from smartspider.backends.redis.servers import open_servers
from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.errors import FrontierUnavailable, LeadershipLost
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.updates import HostRow, QueuePosition, RunControl, RunLoad
from smartspider.core.runs.run import Counters, Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.installation.installation import RemoteFrontier
from smartspider.interfaces.frontier_index import SlotLead
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.arming import ArmShard
from smartspider.keeper.frontier.controls import RunControlSender, SendRunControls
from smartspider.keeper.frontier.filling import FillLanes, FillSizes, ShardLoader, SweepOpenRows
from smartspider.keeper.frontier.loads import CountLoads
from smartspider.keeper.frontier.state import FrontierState

CAP = 20


class Row:
    """The leader's row."""

    def __init__(self) -> None:
        self.term: Term | None = None
        self.epoch = 6

    async def take(self, owner: str, term_s: float) -> Term | None:
        if self.term is not None and self.term.owner != owner:
            return None
        if self.term is None:
            self.epoch += 1
        self.term = Term(owner, self.epoch, term_s)
        return self.term

    async def resign(self, owner: str) -> None:
        if self.term is not None and self.term.owner == owner:
            self.term = None

    async def current(self) -> Term | None:
        return self.term

    async def newest(self) -> Term:
        return self.term or Term("", self.epoch, 0.0)

    async def check(self, epoch: int) -> None:
        if epoch != self.epoch:
            raise LeadershipLost(f"term {epoch} is over")


class LoadedRows(MemoryRows):
    """A store in memory that keeps loads, and that a leader can be frozen in after reading it."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(clock.store_now)
        self.loads: dict[int, RunLoad] = {}
        self.writes = 0
        self.frozen_at = ""
        self.reached = asyncio.Event()
        self.thawed = asyncio.Event()
        self.asked: Counter[str] = Counter()

    async def store_loads(self, loads: Sequence[RunLoad], *, epoch: int) -> None:
        self.writes += 1
        self.loads |= {load.run_id: load for load in loads if self.runs[load.run_id].state == load.state}

    async def _pass(self, place: str) -> None:
        self.asked[place] += 1
        if self.frozen_at == place:
            self.frozen_at = ""
            self.reached.set()
            await self.thawed.wait()

    async def controls(self) -> list[RunControl]:
        found = await super().controls()
        await self._pass("controls")
        return found

    async def places_after(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[QueuePosition]:
        found = await super().places_after(run_id, after=after, limit=limit)
        await self._pass("places_after")
        return found

    async def heads(self, run_id: int, hosts: Sequence[str], limit: int) -> list[QueuePosition]:
        found = await super().heads(run_id, hosts, limit)
        await self._pass("heads")
        return found

    async def hosts(self, *, after: str = "", limit: int = 1000) -> list[HostRow]:
        found = await super().hosts(after=after, limit=limit)
        await self._pass("hosts")
        return found


class Leader:
    """One keeper and what it does about the frontier."""

    def __init__(self, scene: ClusterHarness, name: str, sizes: FillSizes = FillSizes()) -> None:
        self.scene = scene
        self.name = name
        self.index = scene.index
        self.remote = RemoteFrontier(
            self.index, scene.rows, scene.row, scene.clock.store_now, history=scene.read_history
        )
        self.state = FrontierState(self.remote)
        self.controls, loader = RunControlSender(self.state), ShardLoader(self.state, sizes)
        self.arming = [
            ArmShard(self.state, self.controls, loader, shard) for shard in range(self.index.shards)
        ]
        self.telling = SendRunControls(self.state, self.controls)
        self.filling = FillLanes(self.state, loader)
        self.counting = CountLoads(self.state, scene.live_runs, scene.clock)
        self.sweeping = SweepOpenRows(self.state, loader, scene.clock)
        self.term = Term(name, 0, 0.0)

    async def lead(self) -> None:
        """Take the lead from whoever has it."""
        self.scene.row.term = None
        term = await self.scene.row.take(self.name, 5.0)
        assert term is not None
        self.term = term

    async def arm(self) -> None:
        await self.scene.turn()
        for duty in self.arming:
            await duty.do(self.term)

    async def tend(self) -> None:
        """Every duty once."""
        await self.arm()
        for duty in (self.telling, self.filling, self.counting):
            await duty.do(self.term)

    async def pass_time(self, seconds: float, step_s: float = 0.5) -> None:
        """Keep cluster while time goes by."""
        for _ in range(round(seconds / step_s)):
            await self.scene.clock.advance(step_s)
            await self.tend()


class NotedShards(Shards):
    """Notes the names of the calls."""

    def __init__(self, *address: Any, **options: Any) -> None:
        super().__init__(*address, **options)
        self.called: list[str] = []

    async def round(self, calls: Sequence[Call]) -> list[Any]:
        self.called += [call.name for call in calls]
        return await super().round(calls)


class CuttableIndex(RedisIndex):
    """Gets no answer to `arm` while its line is cut."""

    is_cut = False

    async def arm(self, shard: int, epoch: int, store_now: float, lead: SlotLead = SlotLead()) -> float:
        if self.is_cut:
            raise FrontierUnavailable("no answer")
        return await super().arm(shard, epoch, store_now, lead)


class ClusterHarness:
    """A frontier, its store, and leaders for it."""

    def __init__(self, url: str, *, cap: int = CAP) -> None:
        self.clock = HandClock()
        self.rows = LoadedRows(self.clock)
        self.row = Row()
        self.cap = cap
        self.history = "first"
        """Of the store."""
        self.servers = open_servers(read_url(url))
        code = library.source(is_settable=True)
        self.shards = NotedShards(read_url(url), servers=self.servers, code=code)
        self.index = CuttableIndex(self.shards, cap=cap)
        self.frontier = RedisFrontier(self.shards, self.rows, self.rows, self.rows, self.clock, cap=cap)

    async def read_history(self) -> str:
        """Another one after a failover that may have lost commits."""
        return self.history

    async def turn(self) -> None:
        """Set the clocks of the servers."""
        tags = [self.shards.tag(shard) for shard in range(self.shards.count)]
        now = repr(self.clock.store_now())
        with contextlib.suppress(RedisError):  # it may be down
            await self.servers.calls([(tag, ["SET", f"{tag}:wall", now]) for tag in tags])

    async def raw(self, *command: Any) -> Any:
        """A command to the server."""
        (answer,) = await self.servers.calls([(self.shards.tag(0), list(command))])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def live_runs(self) -> list[Run]:
        """Runs with as many open rows as they have."""
        return [
            Run(run.run_id, "task", b"{}", "", run.state, "", self._counters(run.run_id), 0, 0.0)
            for run in self.rows.runs.values()
            if run.state in ("queued", "running", "stopping")
        ]

    def _counters(self, run_id: int) -> Counters:
        return Counters(total=len(self.rows.open_rows(run_id)))

    async def take(self, *runs: int, want: int = 64) -> list[Lease]:
        """What a new worker gets."""
        await self.turn()
        worker = await self.frontier.join(WorkerRegistration("w"))
        return (await self.frontier.lease(worker, want, runs)).leases

    async def queued(self, run_id: int) -> int:
        """What all shards have queued of a run."""
        found = [await self.index.counts(shard, [run_id]) for shard in range(self.index.shards)]
        return sum(counts[run_id].queued for counts in found)

    async def close(self) -> None:
        """Let go of everything."""
        await self.servers.close()
