"""One life of a data folder: processes, workers and virtual time, and how right what it leaves behind is."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

from smartspider.core.dedup import ItemDedup
from smartspider.core.runs import may_become
from smartspider.core.workers import WorkerCard
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.acts import plan_of
from smartspider_testing.crew import Killed, SimulatedSite, SimulatedWorker, Tally
from smartspider_testing.dedup_check import DEDUPS, dedup_problems
from smartspider_testing.sqlite import SqliteGround

PER_HOST = 3
RECOVERY_S = 600.0
"""Virtual seconds that are plenty for the rest, once nothing goes wrong any more."""


class SimulatedClock(ManualClock):
    """A clock nobody sleeps by."""

    def move(self, seconds: float) -> None:
        """Time passes."""
        self._move_to(self._monotonic + seconds)


class Life:
    """One data folder from its first run to the last page."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.draw = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self.clock = SimulatedClock()
        self.processes = [SqliteGround(folder, self.clock) for _ in range(self.draw.randint(1, 3))]
        self.crew: list[SimulatedWorker] = []
        self.sites: dict[int, SimulatedSite] = {}
        self.tally = Tally()
        self.hosts = self.draw.randint(1, 3)
        self.dedup = self.draw.choice([ItemDedup(), ItemDedup(), *DEDUPS])
        self._lone: Counter[int] = Counter()
        self.is_clock_steady = True
        """Nobody has set the wall clock, by which receipts are written."""

    async def begin(self, seed: int) -> None:
        """A run over a site of its own; the sites of all runs share their hosts."""
        site = SimulatedSite(self.draw.randint(3, 25), seed, self.hosts, self.dedup)
        delay_s = self.draw.choice([0.0, 0.5, 1.0])
        concurrency = self.draw.choice([2, 4, 64])
        plan = plan_of(
            *(site.request("0"),),
            dedup=self.dedup,
            delay_s=delay_s,
            per_host=PER_HOST,
            concurrency=concurrency,
        )
        run = await self.processes[0].store.create_run(plan)
        await self.processes[0].store.set_state(run.id, "running")
        self.sites[run.id] = site

    async def step(self) -> None:
        """The worker whose time comes first does one thing; keeping house happens now and then."""
        while len(self.crew) < 3:
            await self._hire()
        worker = min(self.crew, key=lambda candidate: candidate.due_at)
        if self.draw.random() < 0.1:
            worker = self.draw.choice(self.crew)
        self.clock.move(max(worker.due_at - self.clock.monotonic(), 0.0))
        try:
            await worker.step(self.draw)
        except Killed as killed:
            worker.fails_at = None
            if str(killed) != "settle.committed" or self.draw.random() < 0.5:
                await self.bury(worker)
        if self.draw.random() < 0.05:
            await self._keep_house()

    def anyone(self) -> SimulatedWorker | None:
        """Some worker, if there is one."""
        return self.draw.choice(self.crew) if self.crew else None

    async def _hire(self) -> None:
        process = self.draw.choice(self.processes)
        worker_id = await process.frontier.join(WorkerCard(f"worker {len(self.crew)}"))
        self.crew.append(SimulatedWorker(process, worker_id, self.sites, self.tally))

    async def _keep_house(self) -> None:
        process = self.draw.choice(self.processes)
        await process.frontier.reclaim()
        for run_id in self.sites:
            run = await process.store.finish(run_id)
            for host in await process.store.hosts(run_id):
                if host.in_flight > PER_HOST:
                    self.tally.problems.append(f"{host.host} had {host.in_flight} in flight")
            if run.state in ("paused", "stopped") and self.draw.random() < 0.5:
                await process.store.set_state(run_id, "running")

    async def bury(self, worker: SimulatedWorker) -> None:
        """A worker dies; someone may notice at once."""
        self.waste(worker)
        await worker.ground.lose(worker.worker_id)
        if self.draw.random() < 0.7:
            await self.draw.choice(self.processes).frontier.reclaim()

    def waste(self, worker: SimulatedWorker) -> None:
        """A worker is gone, and what it had fetched with it."""
        self.tally.wasted += len(worker.flying)
        self.crew.remove(worker)

    def endangers(self, crew: list[SimulatedWorker]) -> bool:
        """Whether losing these workers might bury a page that was lost alone before; if not, it is noted."""
        alone = [lease.url_id for worker in crew for lease in worker.leases if lease.is_alone]
        if any(self._lone[url_id] for url_id in alone):
            return True
        self._lone.update(alone)
        return False

    async def recover(self) -> None:
        """No more faults: everyone who hangs goes on, everything that waits is let go."""
        store = self.processes[0].store
        until = self.clock.monotonic() + RECOVERY_S
        for worker in self.crew:
            worker.fails_at = None
        while self.clock.monotonic() < until:
            states = {run_id: (await store.finish(run_id)).state for run_id in self.sites}
            if all(state == "completed" for state in states.values()):
                return
            for run_id, state in states.items():
                if may_become(state, "running") and state not in ("completed", "failed"):
                    await store.set_state(run_id, "running")
            for _ in range(10):
                await self.step()
            await self.processes[0].frontier.reclaim()
        self.tally.problems.append(f"nothing came to its end within {RECOVERY_S:g} s without faults")

    async def problems(self) -> list[str]:
        """What is wrong with what is there."""
        problems = list(self.tally.problems)
        allowed = self.tally.retries + self.tally.wasted
        for number, (run_id, site) in enumerate(self.sites.items()):
            store = self.draw.choice(self.processes).store
            run = await store.get_run(run_id)
            if not self.dedup.keys:
                rows = [json.loads(item.data) async for batch in store.items(run_id) for item in batch]
                problems += [f"run {number}: {problem}" for problem in site.graph.problems(rows)]
            problems += [
                f"run {number}: {name} is {value}"
                for name, value in (("open", run.counters.open), ("failed", run.counters.failed))
                if value
            ]
            if run.state != "completed":
                problems.append(f"run {number} is {run.state}: {run.reason}")
            allowed += run.counters.done + run.counters.redirect + run.counters.late
            problems += [
                f"run {number}: {receipt.host} was hammered {receipt.violations} times"
                for receipt in await store.receipt(run_id)
                if receipt.violations and self.is_clock_steady
            ]
        if self.dedup.keys:
            problems += await dedup_problems(self.processes[0].store, self.sites, self.dedup)
        if self.tally.fetches > allowed:
            problems.append(f"{self.tally.fetches} fetches where {allowed} are explained")
        problems += [finding.message for finding in await self.processes[0].store.fsck()]
        return problems + self._too_close()

    def _too_close(self) -> list[str]:
        """Requests that left for a host before its delay had passed, by a clock that nobody set."""
        problems = []
        for host, sends in self.tally.sends.items():
            spaced = [send for send in sends if send[1] > 0.0]
            for (old, _), (new, delay_s) in pairwise(spaced):
                if new - old < delay_s - 1e-6:
                    problems.append(
                        f"{host} was asked {new - old:.3f} s after the last time, not {delay_s} s"
                    )
        return problems
