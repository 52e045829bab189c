"""What a contract suite stands on: one backend, seen from one process, with a clock to turn by hand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

import pytest

from smartspider.interfaces.answer_store import AnswerStore
from smartspider.interfaces.audit_log import AuditLog
from smartspider.interfaces.event_feed import EventFeed
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.insight import Insight
from smartspider.interfaces.leadership import Leadership
from smartspider.interfaces.ledger import Ledger
from smartspider.interfaces.log_store import LogStore
from smartspider.interfaces.metric_store import MetricStore
from smartspider.interfaces.notice_store import NoticeStore
from smartspider.interfaces.result_store import ResultStore
from smartspider.interfaces.robots_cache import RobotsCache
from smartspider.interfaces.scaling import Demand, ScalingStore
from smartspider.interfaces.schedule_store import ScheduleStore
from smartspider.interfaces.store import Store
from smartspider.interfaces.task_store import TaskStore
from smartspider.interfaces.user_store import UserStore
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider_testing.clock import ManualClock


class Ground(ABC):
    """Store, frontier, ledger, tasks and audit as one process sees them."""

    store: Store
    robots: RobotsCache
    frontier: Frontier
    ledger: Ledger
    tasks: TaskStore
    results: ResultStore
    audit: AuditLog
    events: EventFeed
    logs: LogStore
    metrics: MetricStore
    insight: Insight
    users: UserStore
    answers: AnswerStore
    schedules: ScheduleStore
    scaling: ScalingStore
    demand: Demand
    leadership: Leadership
    notices: NoticeStore
    workers: WorkerRegistry
    clock: ManualClock

    @abstractmethod
    async def another(self) -> Ground:
        """The same data as a second process sees it, by the same clock; closed with this one."""

    @abstractmethod
    async def lose(self, worker_id: int) -> None:
        """A worker of this process dies without a word, as by SIGKILL."""

    @abstractmethod
    async def reopen(self) -> None:
        """This process ends without a word, its workers with it, and another one opens the same data."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of everything."""


class OnGround:
    """Tests with a `ground`. After each of them everything in the store must still agree."""

    @pytest.fixture(autouse=True)
    async def everything_agrees(self, ground: Ground) -> AsyncIterator[None]:
        """Store 6, audit log 3: nothing is found wrong, whatever a test did through the interfaces."""
        yield
        assert await ground.store.fsck() == []
        assert (await ground.audit.verify()).broken is None
