"""As much of a store and a ledger as the suites of the frontier ask for, over a frontier on a real Redis."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
from tests.unit.backends.redis.grounds import Scene, place_of

from smartspider.core.lease import LeaseBatch
from smartspider.core.placing import Moves
from smartspider.core.plan import Plan
from smartspider.core.runs import ACCEPTS_PAGES, Counters, Run, RunState
from smartspider.core.tuning import Tuning
from smartspider.core.verdict import Close, HostNews, Settlement
from smartspider.interfaces.ledger import SettleReport
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.interfaces.store import UrlRecord
from smartspider.testing.contracts.ground import Ground


class SceneStore:
    """Runs and rows of a scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._names: dict[int, str] = {}
        self.holders: dict[int, str] = {}

    async def create_run(self, plan: Plan) -> Run:
        polite = plan.politeness
        run_id = self._scene.rows.add_run(
            plan.entries,
            "queued",
            weight=plan.weight,
            concurrency=plan.concurrency,
            delay_s=polite.spacing_s,
            per_host=polite.per_host,
            per_domain=polite.per_domain,
        )
        self._names[run_id] = plan.name
        return await self.get_run(run_id)

    async def get_run(self, run_id: int) -> Run:
        rows = self._scene.rows
        states = [row.state for row in rows.rows.values() if row.id >> 40 == run_id]
        in_flight = 0
        for shard in range(self._scene.shards.count):
            counts = await self._scene.index.counts(shard, [run_id], with_queues=False)
            in_flight += counts[run_id].leased
        counters = Counters(
            total=len(states),
            done=states.count("done"),
            dead=states.count("dead"),
            returns=rows.returns[run_id],
        )
        state = rows.runs[run_id].state
        return Run(run_id, self._names[run_id], b"", "", state, "", counters, in_flight, 0.0)

    async def set_state(self, run_id: int, state: RunState) -> Run:
        self._scene.rows.change(run_id, state=state)
        return await self.get_run(run_id)

    async def finish(self, run_id: int) -> Run:
        if not self._scene.rows.open_rows(run_id):
            return await self.set_state(run_id, "completed")
        return await self.get_run(run_id)

    async def tune(self, run_id: int, tuning: Tuning) -> None:
        knobs = {
            "delay_s": tuning.delay_s,
            "per_host": tuning.per_host,
            "concurrency": tuning.concurrency,
            "weight": tuning.priority,
        }
        turned = {name: value for name, value in knobs.items() if value is not msgspec.UNSET}
        if "weight" in turned:
            turned["weight"] += 1
        self._scene.rows.change(run_id, **turned)

    async def hosts(self, run_id: int) -> list[Any]:
        del run_id
        return [SimpleNamespace(hold_reason=reason) for reason in self._scene.rows.reasons.values()]

    async def find_urls(self, fingerprint: bytes, run_id: int) -> list[UrlRecord]:
        row = self._scene.rows.rows[self._scene.rows.known[run_id, fingerprint]]
        request = row.request
        return [
            UrlRecord(
                row.id, run_id, request.url, row.state, row.reason, None, request.page, 0, request.priority,
                row.attempts, row.returns, 0, None, None, 0.0, None, self.holders.get(row.id, "queued"),
            )
        ]  # fmt: skip

    async def items(self, run_id: int) -> AsyncIterator[list[Any]]:
        del run_id
        nothing: list[list[Any]] = []
        for batch in nothing:
            yield batch

    async def fsck(self) -> list[str]:
        """Also of the frontier: whatever a test did, its indexes agree."""
        self._scene.keeper.is_on = True
        return await self._scene.frontier.check(list(self._scene.rows.runs))


class SceneLedger:
    """Settles in memory, then tells the frontier."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        held = await self._scene.frontier.held([one.lease for one in settlements])
        moves, late = Moves(), 0
        for one in settlements:
            if one.news is not None:
                await self._hear(one.lease.request.host, one.news, moves)
            row, run = self._scene.rows.rows[one.lease.url_id], self._scene.rows.runs[one.lease.run_id]
            if row.state != "open" or run.state not in ACCEPTS_PAGES:
                late += 1
                moves.ended.append(one.lease)
            elif isinstance(one.verdict, Close):
                row.state, row.reason = one.verdict.state, one.verdict.reason
                new = [self._scene.rows.add(run.run_id, child) for child in one.verdict.children]
                moves.offered += await self._scene.rows.places([child for child in new if child])
                moves.ended.append(one.lease)
            elif one.lease.token in held:
                row.attempts += one.verdict.counts
                due_at = self._scene.clock.store_now() + one.verdict.delay_s
                moves.postponed.append((one.lease, place_of(one.lease, due_at)))
        await self._scene.frontier.carry_out(moves)
        return SettleReport(late=late)

    async def _hear(self, host: str, news: HostNews, moves: Moves) -> None:
        rows = self._scene.rows
        if news.slow_down:
            rows.slow_down(host)
        if news.hold_s is not None:
            await rows.hold_host(host, news.hold_s, news.reason)
        moves.hosts.append(rows.gate(host))


class SceneRobots:
    """Crawl delays."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float) -> None:
        del answer
        row = self._scene.rows.set_gate(host, robots_s=crawl_delay_s)
        await self._scene.frontier.carry_out(Moves(hosts=[row]))


class SceneEvents:
    """What was told."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def of_run(self, run_id: int) -> list[Any]:
        return [
            SimpleNamespace(name=one.name, data=json.dumps({"count": one.count, "worker": one.worker}))
            for one in self._scene.rows.told
            if one.run_id == run_id
        ]


class WatchedFrontier:
    """Notes who holds what, as the store's mirror of leases does; knows the workers of its process."""

    def __init__(self, scene: Scene, store: SceneStore) -> None:
        self._scene = scene
        self._store = store
        self._inner = scene.another_frontier()
        self.own: list[int] = []

    async def join(self, worker: Any) -> int:
        self.own.append(await self._inner.join(worker))
        return self.own[-1]

    async def lease(self, worker_id: int, want: int, runs: Sequence[int]) -> LeaseBatch:
        batch = await self._inner.lease(worker_id, want, runs)
        for lease in batch.leases:
            self._store.holders[lease.url_id] = f"leased by {self._scene.rows.workers[worker_id]}"
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class SceneGround(Ground):
    """See `smartspider.testing.contracts.ground`; only what the frontier's suites use is there."""

    def __init__(self, scene: Scene, store: SceneStore | None = None) -> None:
        self._scene = scene
        self._store = store or SceneStore(scene)
        self.clock = scene.clock
        parts: dict[str, Any] = {
            "store": self._store,
            "ledger": SceneLedger(scene),
            "robots": SceneRobots(scene),
            "events": SceneEvents(scene),
            "audit": SimpleNamespace(verify=_intact),
        }
        vars(self).update(parts)
        self._open()

    def _open(self) -> None:
        self._watched = WatchedFrontier(self._scene, self._store)
        vars(self)["frontier"] = self._watched

    async def another(self) -> SceneGround:
        return SceneGround(self._scene, self._store)

    async def lose(self, worker_id: int) -> None:
        self._scene.rows.dead.add(worker_id)

    async def reopen(self) -> None:
        self._scene.rows.dead |= set(self._watched.own)
        self._open()

    async def close(self) -> None:
        pass


async def _intact() -> Any:
    return SimpleNamespace(broken=None)
