"""A ledger behind URL filters keeps all promises of a ledger, and its filter those of a filter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from smartspider.core.frontier.verdict import Settlement
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.dedup.deduplicator import DedupRun
from smartspider.dedup.ledger import DedupLedger
from smartspider.dedup.url_filter import ExactUrlFilter, FilterStack
from smartspider.engine.runtime import LocalBus
from smartspider.interfaces.ledger import SettleReport
from smartspider_testing.backends.memory_url_filter import MemoryUrlFilter
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts import ExactUrlFilterContract, LedgerContract
from smartspider_testing.contracts.url_filter import Make

pytestmark = pytest.mark.thorough

PLAN = Plan("task", b"{}", "hash", (), {}, UrlScope())


class DeduplicatesAll(DedupLedger):
    """Deduplicates the URLs of every run."""

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        with ExitStack() as stack:
            for run_id in {settlement.lease.run_id for settlement in settlements}:
                stack.enter_context(self.deduplicating(run_id, DedupRun(PLAN)))
            return await super().settle(settlements)


class TestLedgerBehindFilters(LedgerContract):
    @pytest.fixture
    async def backend(self, tmp_path: Path) -> AsyncIterator[SqliteBackend]:
        backend = SqliteBackend(tmp_path / "data", ManualClock())
        layers = FilterStack(exact=MemoryUrlFilter())

        async def epoch() -> str:
            return ""

        backend.ledger = DeduplicatesAll(backend.ledger, layers, backend.clock, LocalBus(), epoch=epoch)
        yield backend
        await backend.close()


class TestMemoryUrlFilter(ExactUrlFilterContract):
    @pytest.fixture
    def make(self) -> Make[ExactUrlFilter]:
        made: dict[int, ExactUrlFilter] = {}

        async def make(max_bytes: int) -> ExactUrlFilter:
            return made.setdefault(max_bytes, MemoryUrlFilter(max_bytes))

        return make
