"""What a contract suite stands on: one backend, seen from one process, with a clock to turn by hand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

import pytest

from smartspider.interfaces.demand import Demand
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.leadership import Leadership
from smartspider.interfaces.ledger import Ledger
from smartspider.interfaces.robots_cache import RobotsCache
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.store.access.users import UserStore
from smartspider.store.audit import AuditLog
from smartspider.store.diagnostics.store import Diagnostics
from smartspider.store.events import EventFeed
from smartspider.store.idempotency import IdempotencyStore
from smartspider.store.logs.store import LogStore
from smartspider.store.metrics import MetricStore
from smartspider.store.nodes.scaling import ScalingStore
from smartspider.store.notifications import NotificationStore
from smartspider.store.results.store import ResultStore
from smartspider.store.runs.store import RunStore
from smartspider.store.schedules import ScheduleStore
from smartspider.store.tasks import TaskStore
from smartspider_testing.clock import ManualClock


class Backend(ABC):
    """Store, frontier, ledger, tasks and audit as one process sees them."""

    store: RunStore
    robots: RobotsCache
    frontier: Frontier
    ledger: Ledger
    tasks: TaskStore
    results: ResultStore
    audit: AuditLog
    events: EventFeed
    logs: LogStore
    metrics: MetricStore
    insight: Diagnostics
    users: UserStore
    answers: IdempotencyStore
    schedules: ScheduleStore
    scaling: ScalingStore
    demand: Demand
    leadership: Leadership
    notices: NotificationStore
    workers: WorkerRegistry
    clock: ManualClock

    @abstractmethod
    async def another(self) -> Backend:
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


class BackendContract:
    """Tests with a `backend`. After each of them everything in the store must still agree."""

    @pytest.fixture(autouse=True)
    async def everything_agrees(self, backend: Backend) -> AsyncIterator[None]:
        """Store 6, audit log 3: nothing is found wrong, whatever a test did through the interfaces."""
        yield
        assert await backend.store.fsck() == []
        assert (await backend.audit.verify()).broken is None
