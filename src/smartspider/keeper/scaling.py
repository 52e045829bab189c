"""The duty of saying how many workers are wanted."""

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
from smartspider.interfaces.demand import Demand
from smartspider.interfaces.leadership import Term
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.store.nodes.scaling import ScalingStore

log = logging.getLogger("smartspider.keeper")

LANES = 100
"""Hosts of a run that are looked at; the others are taken to be like them."""
ALL_LANES = 400
"""Hosts of all runs together: while they are looked at the frontier serves nobody else."""
RUNS = 100
"""Runs whose hosts are looked at; what is beyond waits for these."""
REPEAT_S = 30.0
"""A figure that is the same is told again so often while nothing is to be fetched."""


class Scalable(msgspec.Struct, frozen=True):
    """What the figure is made from, and where it is kept."""

    store: ScalingStore
    demand: Demand
    workers: WorkerRegistry
    store_now: Callable[[], float]
    aims: ScalingOptions = ScalingOptions()


class DecideWorkers:
    """Measures, decides, keeps the figure with its reasons, and tells when it is another.

    While the frontier is away the last figure stays: nobody is sent home because of that.
    """

    name, every_s = "scaling", 5.0

    def __init__(self, scalable: Scalable) -> None:
        self._scalable = scalable
        self.every_s = max(0.5, min(5.0, scalable.aims.stabilization_s / 4))
        self._epoch = 0
        self._pace = WorkerThroughput()
        self._last_workers: dict[int, WorkerRecord] = {}
        self._steady = StabilizationWindow(scalable.aims.stabilization_s)
        self._kept: ScalingDecision | None = None

    async def do(self, term: Term) -> None:
        """Once; hardly anything while no run has work."""
        if term.epoch != self._epoch:
            await self._load(term)
        runs = await self._scalable.store.runs()
        if runs:
            try:
                await self._measure()
                runs = await self._measure_lanes(runs)
            except FrontierUnavailable:
                return
        figure = decide(runs, self._pace, self._scalable.aims)
        await self._keep(term, msgspec.structs.replace(figure, at=self._scalable.store_now()))

    async def _load(self, term: Term) -> None:
        """What another leader said holds as if it had been said here."""
        scalable = self._scalable
        self._last_workers, self._steady, self._kept = (
            {},
            StabilizationWindow(scalable.aims.stabilization_s),
            await scalable.store.figure(),
        )
        if self._kept is not None:
            self._pace = self._kept.throughput
            self._steady.apply(self._kept)
        self._epoch = term.epoch

    async def _measure(self) -> None:
        workers = await self._scalable.workers.find()
        self._pace = update_throughput(self._pace, self._last_workers, workers)
        self._last_workers = {one.id: one for one in workers}

    async def _measure_lanes(self, runs: Sequence[RunDemand]) -> list[RunDemand]:
        asked = [run.run_id for run in runs[:RUNS]]
        found = await self._scalable.demand.lanes(asked, min(LANES, ALL_LANES // len(asked)))
        seen = []
        for run in runs:
            lanes, looked = found.get(run.run_id, (0, []))
            seen.append(msgspec.structs.replace(run, lanes=lanes, sampled=tuple(looked)))
        return seen

    async def _keep(self, term: Term, figure: ScalingDecision) -> None:
        steady, before = self._steady.apply(figure), self._kept
        if before is not None and _is_same(before, steady) and steady.at - before.at < REPEAT_S:
            return
        await self._scalable.store.keep(term.epoch, steady)
        self._kept = steady
        if before is None or before.desired != steady.desired:
            was = "" if before is None else f", {before.desired} were"
            many = "1 worker is" if steady.desired == 1 else f"{steady.desired} workers are"
            log.info("scaling: %s wanted%s: %s", many, was, steady.reason)


def _is_same(before: ScalingDecision, now: ScalingDecision) -> bool:
    """Whether nothing is to be fetched, and nothing was."""
    return not now.runs and msgspec.structs.replace(now, at=before.at) == before
