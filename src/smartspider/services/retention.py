"""What is kept for how long. By default nothing that was crawled is ever forgotten, old log lines are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.runs.run import UNFINISHED, Run
from smartspider.installation.retention import Retention
from smartspider.interfaces.clock import Clock
from smartspider.store.runs.store import RunStore

PAGE = 200
"""Runs looked at before others have a turn."""


class RunSweep:
    """Walks through all runs from the newest on, a page at a time, and forgets those that need not be kept.

    A run that is not over is never touched, nor is the newest of each task that is.
    """

    def __init__(
        self, store: RunStore, clock: Clock, kept: Retention, forget: Callable[[int], Awaitable[None]]
    ) -> None:
        self._store = store
        self._clock = clock
        self._kept = kept
        self._forget = forget
        self._before: int | None = None
        self._newer: Counter[int] = Counter()

    async def step(self) -> bool:
        """One page; True while there are more, False at the end of a walk."""
        if self._kept.run_age_s is None and self._kept.runs_per_task is None:
            return False
        page = await self._store.list_runs(before=self._before, limit=PAGE)
        for run in page:
            if run.state not in UNFINISHED:
                await self._judge(run)
        self._before = page[-1].id if page else None
        if not page:
            self._newer.clear()
        return bool(page)

    async def _judge(self, run: Run) -> None:
        newer = self._newer[run.task_id]
        is_old = (
            self._kept.run_age_s is not None
            and (run.finished_at or run.created_at) < self._clock.now() - self._kept.run_age_s
        )
        is_one_too_many = self._kept.runs_per_task is not None and newer >= self._kept.runs_per_task
        if newer > 0 and (is_old or is_one_too_many):
            try:
                await self._forget(run.id)
            except (NotAllowed, NotFound):  # somebody works on it again, or was faster
                pass
            else:
                return
        self._newer[run.task_id] += 1
