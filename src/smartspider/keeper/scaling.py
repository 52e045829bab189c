"""Decide the desired number of workers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.workers.scaling import (
    RunDemand,
    ScalingDecision,
    ScalingOptions,
    StabilizationWindow,
    WorkerThroughput,
    decide,
    update_throughput,
)
from smartspider.core.workers.worker import WorkerRecord
from smartspider.interfaces.frontier import Demand
from smartspider.interfaces.leadership import Term
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.store.nodes.workers import ScalingStore

log = logging.getLogger("smartspider.keeper")

LANES = 100
"""Hosts sampled per run; the others are assumed to be alike."""
ALL_LANES = 400
"""Hosts sampled in all runs together: sampling blocks the frontier."""
RUNS = 100
"""Runs whose hosts are sampled; the others wait for these."""
REPEAT_S = 30.0
"""Interval of storing an unchanged decision while there is nothing to fetch."""


class DecideWorkers:
    """Measures, decides, stores the decision with its reason, and logs a change.

    While the frontier is unavailable the last decision stands.
    """

    name, every_s = "scaling", 5.0

    def __init__(
        self,
        store: ScalingStore,
        demand: Demand,
        workers: WorkerRegistry,
        now: Callable[[], float],
        options: ScalingOptions = ScalingOptions(),
    ) -> None:
        self._store = store
        self._demand = demand
        self._workers = workers
        self._now = now
        self._options = options
        self.every_s = max(0.5, min(5.0, options.stabilization_s / 4))
        self._epoch = 0
        self._throughput = WorkerThroughput()
        self._last_workers: dict[int, WorkerRecord] = {}
        self._window = StabilizationWindow(options.stabilization_s)
        self._last: ScalingDecision | None = None

    async def do(self, term: Term) -> None:
        """Decide once; cheap while no run has work."""
        if term.epoch != self._epoch:
            await self._load(term)
        runs = await self._store.runs()
        if runs:
            try:
                await self._measure()
                runs = await self._measure_lanes(runs)
            except FrontierUnavailable:
                return
        decision = decide(runs, self._throughput, self._options)
        await self._keep(term, msgspec.structs.replace(decision, at=self._now()))

    async def _load(self, term: Term) -> None:
        """Continue from the decision of the previous leader."""
        self._last_workers, self._window, self._last = (
            {},
            StabilizationWindow(self._options.stabilization_s),
            await self._store.decision(),
        )
        if self._last is not None:
            self._throughput = self._last.throughput
            self._window.apply(self._last)
        self._epoch = term.epoch

    async def _measure(self) -> None:
        workers = await self._workers.find()
        self._throughput = update_throughput(self._throughput, self._last_workers, workers)
        self._last_workers = {one.id: one for one in workers}

    async def _measure_lanes(self, runs: Sequence[RunDemand]) -> list[RunDemand]:
        run_ids = [run.run_id for run in runs[:RUNS]]
        found = await self._demand.lanes(run_ids, min(LANES, ALL_LANES // len(run_ids)))
        sampled_runs = []
        for run in runs:
            lanes, sample = found.get(run.run_id, (0, []))
            sampled_runs.append(msgspec.structs.replace(run, lanes=lanes, sampled=tuple(sample)))
        return sampled_runs

    async def _keep(self, term: Term, decision: ScalingDecision) -> None:
        stable, before = self._window.apply(decision), self._last
        if before is not None and _is_same(before, stable) and stable.at - before.at < REPEAT_S:
            return
        await self._store.save(term.epoch, stable)
        self._last = stable
        if before is None or before.desired != stable.desired:
            was = "" if before is None else f", {before.desired} were"
            many = "1 worker is" if stable.desired == 1 else f"{stable.desired} workers are"
            log.info("scaling: %s desired%s: %s", many, was, stable.reason)


def _is_same(before: ScalingDecision, now: ScalingDecision) -> bool:
    """Return whether there was and is nothing to fetch."""
    return not now.runs and msgspec.structs.replace(now, at=before.at) == before
