"""Delete what need not be kept: logs, events, runs, URL filters, expired sessions."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.runs.run import UNFINISHED, Run
from smartspider.dedup.url_filter import UrlFilter
from smartspider.installation.retention import LOGS_EVERY_S, Retention, trim_logs
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.services.dedup import drop_finished
from smartspider.store.access.users import UserStore
from smartspider.store.events import EventFeed
from smartspider.store.idempotency import IdempotencyStore
from smartspider.store.logs.store import LogStore
from smartspider.store.notifications import NotificationStore
from smartspider.store.runs.store import RunStore

MINUTE_S = 60.0


class TrimLogs:
    """Deletes log lines beyond the size or age limit."""

    name, every_s = "logs", LOGS_EVERY_S

    def __init__(self, logs: LogStore, clock: Clock, retention: Retention) -> None:
        self._logs = logs
        self._clock = clock
        self._retention = retention

    async def do(self, term: Term) -> None:  # noqa: ARG002 - idempotent
        """Delete the oldest lines."""
        await trim_logs(self._logs, self._clock, self._retention)


class TrimEvents:
    """Deletes the oldest events of runs beyond the limit per run."""

    name, every_s = "events", MINUTE_S

    def __init__(self, events: EventFeed, store: RunStore, retention: Retention) -> None:
        self._events = events
        self._store = store
        self._keep = retention.events_per_run
        self._watched: set[int] = set()

    async def do(self, term: Term) -> None:  # noqa: ARG002 - idempotent
        """Trim every run that is live, or was the last time."""
        live = {run.id for run in await self._store.live_runs()}
        for run_id in sorted(live | self._watched):
            await self._events.trim(run_id, self._keep)
            await asyncio.sleep(0)
        self._watched = live


class DeleteOldRuns:
    """Deletes old and surplus runs with their rows."""

    name, every_s = "retention", 15.0
    walk_every_s = 3600.0

    def __init__(self, sweep: RunSweep, clock: Clock) -> None:
        self._sweep = sweep
        self._clock = clock
        self._next_at = 0.0

    async def do(self, term: Term) -> None:  # noqa: ARG002 - idempotent
        """Check one page of runs; after the last page pause for an hour."""
        if self._clock.monotonic() >= self._next_at and not await self._sweep.step():
            self._next_at = self._clock.monotonic() + self.walk_every_s


class FreeUrlFilters:
    """Drops the URL filters of finished runs and of lost stores."""

    name, every_s = "known", MINUTE_S

    def __init__(
        self, layers: Sequence[UrlFilter], store: RunStore, epoch: Callable[[], Awaitable[str]]
    ) -> None:
        self._layers = layers
        self._store = store
        self._epoch = epoch

    async def do(self, term: Term) -> None:  # noqa: ARG002 - idempotent
        """Drop the filters of all runs that cannot continue."""
        known = {key.id for layer in self._layers for key in await layer.keys() if key.kind == "run"}
        if known:
            live = {run_id for run_id in known if await self._may_go_on(run_id)}
            await drop_finished(self._layers, live, await self._epoch())

    async def _may_go_on(self, run_id: int) -> bool:
        try:
            return (await self._store.get_run(run_id)).state in UNFINISHED
        except NotFound:
            return False


class DeleteExpired:
    """Deletes expired tickets, refresh tokens, idempotency records and finished notifications."""

    name, every_s = "sweep", MINUTE_S

    def __init__(
        self,
        users: UserStore,
        idempotency: IdempotencyStore,
        notifications: NotificationStore,
        clock: Clock,
        retention: Retention,
    ) -> None:
        self._users = users
        self._idempotency = idempotency
        self._notifications = notifications
        self._clock = clock
        self._retention = retention

    async def do(self, term: Term) -> None:  # noqa: ARG002 - idempotent
        """Delete in short steps."""
        await self._users.sweep()
        while await self._idempotency.sweep():  # noqa: ASYNC110 - yields to other tasks, waits for nothing
            await asyncio.sleep(0)
        before = self._clock.now() - self._retention.notification_age_s
        while await self._notifications.sweep(before):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)


PAGE = 1_000
"""Runs read per step."""


class RunSweep:
    """Walks through all runs, newest first, a page at a time, and deletes those beyond the retention.

    Unfinished runs, the newest finished and the newest completed run of each task, and runs that later ones
    compare pages or items with are kept.
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
        self._completed: set[int] = set()
        """Tasks with a completed run among those that were read."""

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
            self._completed.clear()
        return bool(page)

    async def _delete_if_expired(self, run: Run) -> None:
        newer = self._newer[run.task_id]
        is_old = (
            self._retention.run_age_s is not None
            and (run.finished_at or run.created_at) < self._clock.now() - self._retention.run_age_s
        )
        is_surplus = self._retention.runs_per_task is not None and newer >= self._retention.runs_per_task
        is_newest = newer == 0 or (run.state == "completed" and run.task_id not in self._completed)
        if run.state == "completed":
            self._completed.add(run.task_id)
        is_expired = not is_newest and (is_old or is_surplus)
        if is_expired and not await self._store.is_compared_with(run.id):
            try:
                await self._delete(run.id)
            except (NotAllowed, NotFound):  # resumed or deleted meanwhile
                pass
            else:
                return
        self._newer[run.task_id] += 1
