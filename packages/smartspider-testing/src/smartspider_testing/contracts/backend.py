"""The backend under test, as one process sees it, on a manual clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Protocol

import pytest

from smartspider.interfaces.frontier import Demand, Frontier
from smartspider.interfaces.leadership import Leadership
from smartspider.interfaces.ledger import Ledger
from smartspider.interfaces.robots_cache import RobotsCache
from smartspider.interfaces.sink import Position
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.store.access.users import UserStore
from smartspider.store.audit import AuditLog
from smartspider.store.cookie_sets import CookieSetStore
from smartspider.store.diagnostics.store import Diagnostics
from smartspider.store.events import EventFeed
from smartspider.store.idempotency import IdempotencyStore
from smartspider.store.logs.store import LogStore
from smartspider.store.metrics import MetricStore
from smartspider.store.nodes.workers import ScalingStore
from smartspider.store.notifications import NotificationStore
from smartspider.store.proxies import ProxyStore
from smartspider.store.quotas import QuotaStore
from smartspider.store.results.store import ResultStore
from smartspider.store.runs.store import RunStore
from smartspider.store.schedules import ScheduleStore
from smartspider.store.tasks import TaskStore
from smartspider.store.vault import VaultStore
from smartspider_testing.clock import ManualClock


class OpenPosition(Protocol):
    """Opens the stored position of a consumer."""

    def __call__(self, consumer: str, /, *, epoch: int) -> Position:
        """Return the position, moved only while the epoch leads."""


class Backend(ABC):
    """All interfaces of a backend, as one process sees them."""

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
    quotas: QuotaStore
    answers: IdempotencyStore
    vault: VaultStore
    proxies: ProxyStore
    cookie_sets: CookieSetStore
    schedules: ScheduleStore
    scaling: ScalingStore
    demand: Demand
    leadership: Leadership
    notices: NotificationStore
    position: OpenPosition
    workers: WorkerRegistry
    clock: ManualClock

    @abstractmethod
    async def another(self) -> Backend:
        """Open the same data as a second process with the same clock; closed with this one."""

    @abstractmethod
    async def lose(self, worker_id: int) -> None:
        """Let a worker of this process die, as by SIGKILL."""

    @abstractmethod
    async def reopen(self) -> None:
        """Let this process die with its workers, and open the same data again."""

    @abstractmethod
    async def close(self) -> None:
        """Close everything."""


class BackendContract:
    """Base class of the suites: tests with a `backend`, whose data must be consistent after each test."""

    @pytest.fixture(autouse=True)
    async def everything_agrees(self, backend: Backend) -> AsyncIterator[None]:
        """RunStore 6, audit log 3: fsck and verify find nothing wrong after any use of the interfaces."""
        yield
        assert await backend.store.fsck() == []
        assert (await backend.audit.verify()).broken is None
