"""Everything an installation keeps and works with, whichever technology it stands on."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from smartspider.backends.sql.leadership import SqlLeadership
from smartspider.core.errors import FrontierUnavailable, NotArmed, StoreUnavailable
from smartspider.core.lease import Later, Window
from smartspider.core.tasks import SYSTEM
from smartspider.interfaces.answer_store import AnswerStore
from smartspider.interfaces.audit_log import AuditLog
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_feed import EventFeed
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.host_book import HostBook
from smartspider.interfaces.index import Refusals
from smartspider.interfaces.insight import Insight
from smartspider.interfaces.ledger import Ledger
from smartspider.interfaces.log_store import LogStore
from smartspider.interfaces.metric_store import MetricStore
from smartspider.interfaces.notice_store import NoticeStore
from smartspider.interfaces.replay import Replay
from smartspider.interfaces.result_store import ResultStore
from smartspider.interfaces.robots_cache import RobotsCache
from smartspider.interfaces.scaling import Demand, ScalingStore
from smartspider.interfaces.schedule_store import ScheduleStore
from smartspider.interfaces.seen import Layers, SeenRows
from smartspider.interfaces.store import Store
from smartspider.interfaces.task_store import TaskStore
from smartspider.interfaces.user_store import UserStore
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.keeper.frontier.watch import Apart


class Truth(Store, RobotsCache, Protocol):
    """The store, which also keeps what hosts say of themselves."""


class Permits(Protocol):
    """Slots of the host gates for requests that belong to no run: previews."""

    async def reserve(self, host: str, delay_s: float) -> Window | Later:
        """The next slot of a host, at least so far from the one before, also where no run stands."""


class CheckFrontier(Protocol):
    """Looks through a frontier apart from the store."""

    async def __call__(self, runs: Sequence[int], *, repair: bool = False) -> list[str]:
        """What does not agree, in words."""


class Premises(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation offers to those who work in it."""

    path: Path
    """Where files of this machine go: logs, exports, locks."""
    store: Truth
    frontier: Frontier
    ledger: Ledger
    tasks: TaskStore
    results: ResultStore
    audit: AuditLog
    workers: WorkerRegistry
    hosts: HostBook
    events: EventFeed
    logs: LogStore
    metrics: MetricStore
    users: UserStore
    answers: AnswerStore
    permits: Permits
    insight: Insight
    schedules: ScheduleStore
    leadership: SqlLeadership
    notices: NoticeStore
    scaling: ScalingStore
    demand: Demand
    seen_rows: SeenRows
    """What the store says about URLs that others call known."""
    check_writable: Callable[[], Awaitable[None]]
    """Raises `StoreUnavailable` unless what is said can be kept."""
    check_room: Callable[[], Awaitable[None]]
    """Raises `StoreFull` when its disk is full; it costs less."""
    clock: Clock
    actor: str = SYSTEM
    layers: Layers = Layers()
    """What all machines share before the store, for those who look at it."""
    replay: Replay | None = None
    """Where the frontier is part of the store."""
    apart: Apart | None = None
    """Where it is not."""
    check_frontier: CheckFrontier | None = None
    """What does not agree within such a frontier about some runs, in words; mended if asked."""

    async def count_serving(self) -> tuple[int, int]:
        """How many parts of a frontier apart from the store serve, and how many there are."""
        if self.apart is None:
            return 1, 1
        states = await self.apart.index.look()
        return sum(state is not None and state.is_armed for state in states), len(states)

    async def why_away(self) -> FrontierUnavailable | None:
        """Why a part of such a frontier that does not serve cannot be used; None where it can be."""
        if self.apart is None:
            return None
        states = await self.apart.index.look()
        waiting = [shard for shard, state in enumerate(states) if state is None or not state.is_armed]
        for shard in sorted(waiting, key=lambda shard: states[shard] is not None)[:1]:
            try:
                await self.apart.index.check(shard)
            except NotArmed:
                return None
            except FrontierUnavailable as error:
                return error
        return None

    async def refusals(self) -> Refusals:
        """What all parts of such a frontier refused together; parts that do not answer are left out."""
        found = []
        if self.apart is not None:
            for shard in range(self.apart.index.shards):
                with contextlib.suppress(StoreUnavailable):
                    found.append(await self.apart.index.refusals(shard))
        return Refusals(sum(one.stale for one in found), sum(one.old_epoch for one in found))

    @property
    def is_cluster(self) -> bool:
        """Several machines share store and frontier; files in `path` are this one's alone."""
        return self.apart is not None
