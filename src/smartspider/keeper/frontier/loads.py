"""Count the requests in the frontier: for status views, and to detect missing ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.frontier.updates import RunControl, RunLoad
from smartspider.core.runs.run import Run
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.frontier_index import IndexCounts
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.state import FrontierState, gather_shards

QUEUES_SHARE = 0.05
"""Maximum share of the time spent counting queues, which grows with the number of hosts."""
REPAIR_S = 5.0
"""Minimum interval of repairs of a run: between commit and offer a few are always missing."""


LiveRuns = Callable[[], Awaitable[list[Run]]]
"""Returns the live runs with their counters."""


class CountLoads:
    """Counts the requests of each run, stores changed counts, and requests a fill for incomplete runs."""

    name, every_s = "loads", 1.0

    def __init__(self, state: FrontierState, live_runs: LiveRuns, clock: Clock) -> None:
        self._state = state
        self._live_runs = live_runs
        self._clock = clock
        self._kept: dict[int, RunLoad] = {}
        self._epoch = 0
        self._queues_at = 0.0
        self._incomplete: set[int] = set()
        self._repaired_at: dict[int, float] = {}

    async def do(self, term: Term) -> None:
        """Count; queues only as often as `QUEUES_SHARE` allows."""
        self._state.begin_term(term)
        if not self._state.controls:
            return
        began_at = self._clock.monotonic()
        if began_at < self._queues_at:
            await self.count(term, with_queues=False)
            return
        opened = {run.id: run.counters.open for run in await self._live_runs()}
        await self.count(term, with_queues=True)
        if self._state.is_complete:
            self._repair(opened)
        self._queues_at = began_at + (self._clock.monotonic() - began_at) / QUEUES_SHARE

    async def count(self, term: Term, *, with_queues: bool) -> None:
        """Count in all serving shards, and store changed counts."""
        state = self._state
        state.begin_term(term)
        if term.epoch != self._epoch:
            self._epoch, self._kept, self._incomplete = term.epoch, {}, set()
        controls = list(state.controls)
        if state.armed and controls:
            await self._count(controls, with_queues=with_queues)
            if state.is_complete:
                await self._keep(controls)

    async def _count(self, controls: Sequence[RunControl], *, with_queues: bool) -> None:
        state = self._state
        runs = [control.run_id for control in controls]
        shards = list(state.armed)
        counted = await gather_shards(
            state.index.counts(shard, runs, with_queues=with_queues) for shard in shards
        )
        for shard, counts in zip(shards, counted, strict=True):
            if isinstance(counts, FrontierUnavailable):
                state.armed.pop(shard, None)  # until its arming has checked it
                continue
            known = {} if with_queues else state.counts.get(shard, {})
            state.counts[shard] = {run: _with_queue(one, known.get(run)) for run, one in counts.items()}

    def _repair(self, opened: dict[int, int]) -> None:
        """Request a fill for runs that had fewer requests in the frontier than open rows twice in a row."""
        state, now = self._state, self._clock.monotonic()
        incomplete = set()
        for run_id, rows in opened.items():
            run_counts = state.run_counts(run_id)
            if not run_counts.cut and run_counts.queued + run_counts.waiting + run_counts.leased < rows:
                incomplete.add(run_id)
        for run_id in incomplete & self._incomplete:
            if now - self._repaired_at.get(run_id, float("-inf")) >= REPAIR_S:
                self._repaired_at[run_id] = now
                state.request_fill(run_id)
        self._incomplete = incomplete
        self._repaired_at = {run_id: at for run_id, at in self._repaired_at.items() if run_id in opened}

    async def _keep(self, controls: Sequence[RunControl]) -> None:
        """Store changed counts. Those of a stopping run are always stored: it ends when nothing is leased."""
        loads = {}
        for control in controls:
            run_counts = self._state.run_counts(control.run_id)
            loads[control.run_id] = RunLoad(
                control.run_id, control.state, run_counts.leased, run_counts.queued, run_counts.waiting
            )
        new = [
            load
            for run_id, load in loads.items()
            if load.state == "stopping" or load != self._kept.get(run_id)
        ]
        self._kept = {}
        if new:
            await self._state.rows.store_loads(new, epoch=self._epoch)
        self._kept = loads


def _with_queue(counts: IndexCounts, known: IndexCounts | None) -> IndexCounts:
    """Return new counts with the queue length of the last full count."""
    return counts if known is None else msgspec.structs.replace(counts, queued=known.queued)
