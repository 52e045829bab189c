"""A simulated crawl of a data folder: processes, workers, virtual time, and checks of the result."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

from smartspider.core.items.dedup import ItemDedup
from smartspider.core.runs.run import can_transition
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.crashes import SimulatedCrash
from smartspider_testing.simulation.dedup_check import DEDUPS, dedup_problems
from smartspider_testing.simulation.worker import SimulatedSite, SimulatedWorker, SimulationStats

PER_HOST = 3
RECOVERY_S = 600.0
"""Virtual seconds within which all runs must complete once faults end."""


class SimulatedClock(ManualClock):
    """A clock without sleepers."""

    def move(self, seconds: float) -> None:
        """Advance the clock."""
        self._move_to(self._monotonic + seconds)


class SimulatedCrawl:
    """A data folder from its first run to the last page."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self.clock = SimulatedClock()
        self.processes = [SqliteBackend(folder, self.clock) for _ in range(self.rng.randint(1, 3))]
        self.workers: list[SimulatedWorker] = []
        self.sites: dict[int, SimulatedSite] = {}
        self.stats = SimulationStats()
        self.hosts = self.rng.randint(1, 3)
        self.dedup = self.rng.choice([ItemDedup(), ItemDedup(), *DEDUPS])
        self._lost_alone: Counter[int] = Counter()
        self.is_clock_steady = True
        """True unless a fault set the wall clock, which receipts depend on."""

    async def begin(self, seed: int) -> None:
        """Start a run on a site of its own; all sites share their hosts."""
        site = SimulatedSite(self.rng.randint(3, 25), seed, self.hosts, self.dedup)
        delay_s = self.rng.choice([0.0, 0.5, 1.0])
        concurrency = self.rng.choice([2, 4, 64])
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
        """Let the worker that is due first take one step; occasionally run maintenance."""
        while len(self.workers) < 3:
            await self._add_worker()
        worker = min(self.workers, key=lambda candidate: candidate.due_at)
        if self.rng.random() < 0.1:
            worker = self.rng.choice(self.workers)
        self.clock.move(max(worker.due_at - self.clock.monotonic(), 0.0))
        try:
            await worker.step(self.rng)
        except SimulatedCrash as crash:
            worker.crash_at = None
            if str(crash) != "settle.committed" or self.rng.random() < 0.5:
                await self.kill_worker(worker)
        if self.rng.random() < 0.05:
            await self._maintain()

    def random_worker(self) -> SimulatedWorker | None:
        """Return a random worker, or None if there is none."""
        return self.rng.choice(self.workers) if self.workers else None

    async def _add_worker(self) -> None:
        process = self.rng.choice(self.processes)
        worker_id = await process.frontier.join(WorkerRegistration(f"worker {len(self.workers)}"))
        self.workers.append(SimulatedWorker(process, worker_id, self.sites, self.stats))

    async def _maintain(self) -> None:
        process = self.rng.choice(self.processes)
        await process.frontier.reclaim()
        for run_id in self.sites:
            run = await process.store.finish(run_id)
            for host in await process.store.hosts(run_id):
                if host.in_flight > PER_HOST:
                    self.stats.problems.append(f"{host.host} had {host.in_flight} in flight")
            if run.state in ("paused", "stopped") and self.rng.random() < 0.5:
                await process.store.set_state(run_id, "running")

    async def kill_worker(self, worker: SimulatedWorker) -> None:
        """Kill a worker; another process may reclaim its leases at once."""
        self.discard(worker)
        await worker.backend.lose(worker.worker_id)
        if self.rng.random() < 0.7:
            await self.rng.choice(self.processes).frontier.reclaim()

    def discard(self, worker: SimulatedWorker) -> None:
        """Remove a worker together with the pages it had fetched."""
        self.stats.discarded += len(worker.in_flight)
        self.workers.remove(worker)

    def would_bury(self, workers: list[SimulatedWorker]) -> bool:
        """Return True if losing these workers could bury a page that was lost alone before; else record the
        loss.
        """
        alone = [lease.url_id for worker in workers for lease in worker.leases if lease.is_alone]
        if any(self._lost_alone[url_id] for url_id in alone):
            return True
        self._lost_alone.update(alone)
        return False

    async def recover(self) -> None:
        """Run without faults until every run completes."""
        store = self.processes[0].store
        until = self.clock.monotonic() + RECOVERY_S
        for worker in self.workers:
            worker.crash_at = None
        while self.clock.monotonic() < until:
            states = {run_id: (await store.finish(run_id)).state for run_id in self.sites}
            if all(state == "completed" for state in states.values()):
                return
            for run_id, state in states.items():
                if can_transition(state, "running") and state not in ("completed", "failed"):
                    await store.set_state(run_id, "running")
            for _ in range(10):
                await self.step()
            await self.processes[0].frontier.reclaim()
        self.stats.problems.append(f"nothing came to its end within {RECOVERY_S:g} s without faults")

    async def problems(self) -> list[str]:
        """Return what is wrong with the stored result."""
        problems = list(self.stats.problems)
        allowed = self.stats.retries + self.stats.discarded
        for number, (run_id, site) in enumerate(self.sites.items()):
            store = self.rng.choice(self.processes).store
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
        if self.stats.fetches > allowed:
            problems.append(f"{self.stats.fetches} fetches where {allowed} are explained")
        problems += [finding.message for finding in await self.processes[0].store.fsck()]
        return problems + self._early_requests()

    def _early_requests(self) -> list[str]:
        """Return requests to a host that left before its delay had passed, by the monotonic clock."""
        problems = []
        for host, sends in self.stats.sends.items():
            spaced = [send for send in sends if send[1] > 0.0]
            for (old, _), (new, delay_s) in pairwise(spaced):
                if new - old < delay_s - 1e-6:
                    problems.append(
                        f"{host} was asked {new - old:.3f} s after the last time, not {delay_s} s"
                    )
        return problems
