"""Retention of runs. By default no run is deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.runs.run import UNFINISHED, Run
from smartspider.installation.retention import Retention
from smartspider.interfaces.clock import Clock
from smartspider.store.runs.store import RunStore

PAGE = 200
"""Runs read per step."""


class RunSweep:
    """Walks through all runs, newest first, a page at a time, and deletes those beyond the retention.

    Unfinished runs and the newest finished run of each task are kept.
    """

    def __init__(
        self, store: RunStore, clock: Clock, retention: Retention, delete: Callable[[int], Awaitable[None]]
    ) -> None:
        self._store = store
        self._clock = clock
        self._retention = retention
        self._delete = delete
        self._before: int | None = None
        self._newer: Counter[int] = Counter()

    async def step(self) -> bool:
        """Process one page; return True while there are more."""
        if self._retention.run_age_s is None and self._retention.runs_per_task is None:
            return False
        page = await self._store.list_runs(before=self._before, limit=PAGE)
        for run in page:
            if run.state not in UNFINISHED:
                await self._delete_if_expired(run)
        self._before = page[-1].id if page else None
        if not page:
            self._newer.clear()
        return bool(page)

    async def _delete_if_expired(self, run: Run) -> None:
        newer = self._newer[run.task_id]
        is_old = (
            self._retention.run_age_s is not None
            and (run.finished_at or run.created_at) < self._clock.now() - self._retention.run_age_s
        )
        is_surplus = self._retention.runs_per_task is not None and newer >= self._retention.runs_per_task
        if newer > 0 and (is_old or is_surplus):
            try:
                await self._delete(run.id)
            except (NotAllowed, NotFound):  # resumed or deleted meanwhile
                pass
            else:
                return
        self._newer[run.task_id] += 1
