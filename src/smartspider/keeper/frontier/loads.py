"""The duty of counting what the frontier holds: for those who look, and to notice what is missing there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.frontier.updates import RunControl, RunLoad
from smartspider.core.runs.run import Run
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.index import IndexCounts
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.state import FrontierState, gather_shards

QUEUES_SHARE = 0.05
"""The part of the time that may go into counting queues, which takes longer the more hosts there are."""
MEND_S = 5.0
"""A run is not mended more often than this: between commit and offer something is always missing."""


LiveRuns = Callable[[], Awaitable[list[Run]]]
"""Tells the runs that are worked on, with their counters."""


class CountLoads:
    """Counts what is held of each run, keeps what changed, and has runs offered that lack something."""

    name, every_s = "loads", 1.0

    def __init__(self, watch: FrontierState, live_runs: LiveRuns, clock: Clock) -> None:
        self._watch = watch
        self._live_runs = live_runs
        self._clock = clock
        self._kept: dict[int, RunLoad] = {}
        self._epoch = 0
        self._queues_at = 0.0
        self._lacking: set[int] = set()
        self._mended_at: dict[int, float] = {}

    async def do(self, term: Term) -> None:
        """All that is held; queues only as often as that is worth it."""
        self._watch.attend(term)
        if not self._watch.controls:
            return
        began_at = self._clock.monotonic()
        if began_at < self._queues_at:
            await self.count(term, with_queues=False)
            return
        opened = {run.id: run.counters.open for run in await self._live_runs()}
        await self.count(term, with_queues=True)
        if self._watch.is_whole:
            self._mend(opened)
        self._queues_at = began_at + (self._clock.monotonic() - began_at) / QUEUES_SHARE

    async def count(self, term: Term, *, with_queues: bool) -> None:
        """Count in all shards that serve, and keep what changed."""
        watch = self._watch
        watch.attend(term)
        if term.epoch != self._epoch:
            self._epoch, self._kept, self._lacking = term.epoch, {}, set()
        controls = list(watch.controls)
        if watch.armed and controls:
            await self._count(controls, with_queues=with_queues)
            if watch.is_whole:
                await self._keep(controls)

    async def _count(self, controls: Sequence[RunControl], *, with_queues: bool) -> None:
        watch = self._watch
        runs = [control.run_id for control in controls]
        shards = list(watch.armed)
        counted = await gather_shards(
            watch.index.counts(shard, runs, with_queues=with_queues) for shard in shards
        )
        for shard, counts in zip(shards, counted, strict=True):
            if isinstance(counts, FrontierUnavailable):
                watch.armed.pop(shard, None)  # until its arming has looked at it
                continue
            known = {} if with_queues else watch.counts.get(shard, {})
            watch.counts[shard] = {run: _with_queue(one, known.get(run)) for run, one in counts.items()}

    def _mend(self, opened: dict[int, int]) -> None:
        """Runs of which less is held than is open, twice in a row, are offered again."""
        watch, now = self._watch, self._clock.monotonic()
        lacking = set()
        for run_id, rows in opened.items():
            held = watch.held(run_id)
            if not held.cut and held.queued + held.waiting + held.leased < rows:
                lacking.add(run_id)
        for run_id in lacking & self._lacking:
            if now - self._mended_at.get(run_id, float("-inf")) >= MEND_S:
                self._mended_at[run_id] = now
                watch.want(run_id)
        self._lacking = lacking
        self._mended_at = {run_id: at for run_id, at in self._mended_at.items() if run_id in opened}

    async def _keep(self, controls: Sequence[RunControl]) -> None:
        """Write what is new. Whether a run that is to stop has nothing leased is told again and again."""
        loads = {}
        for control in controls:
            held = self._watch.held(control.run_id)
            loads[control.run_id] = RunLoad(
                control.run_id, control.state, held.leased, held.queued, held.waiting
            )
        new = [
            load
            for run_id, load in loads.items()
            if load.state == "stopping" or load != self._kept.get(run_id)
        ]
        self._kept = {}
        if new:
            await self._watch.rows.keep_loads(new, epoch=self._epoch)
        self._kept = loads


def _with_queue(counts: IndexCounts, known: IndexCounts | None) -> IndexCounts:
    """What was counted now, with the queues as they were counted before."""
    return counts if known is None else msgspec.structs.replace(counts, queued=known.queued)
