"""A ledger behind layers keeps all promises of a ledger."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from smartspider.core.plan import Plan
from smartspider.core.scope import Scope
from smartspider.core.verdict import Settlement
from smartspider.engine.bus import LocalBus
from smartspider.engine.seen import SeenLedger
from smartspider.engine.sieve import SiftedRun
from smartspider.interfaces.ledger import SettleReport
from smartspider.interfaces.seen import Layers
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts import LedgerContract
from smartspider_testing.memory_seen import MemorySeen
from smartspider_testing.sqlite import SqliteGround

pytestmark = pytest.mark.thorough

PLAN = Plan("task", b"{}", "hash", (), {}, Scope())


class AllSifted(SeenLedger):
    """Sifts every run it hears of."""

    async def settle(self, settlements: Sequence[Settlement]) -> SettleReport:
        with ExitStack() as stack:
            for run_id in {settlement.lease.run_id for settlement in settlements}:
                stack.enter_context(self.sifting(run_id, SiftedRun(PLAN)))
            return await super().settle(settlements)


class TestLedgerBehindLayers(LedgerContract):
    @pytest.fixture
    async def ground(self, tmp_path: Path) -> AsyncIterator[SqliteGround]:
        ground = SqliteGround(tmp_path / "data", ManualClock())
        layers = Layers(exact=MemorySeen())
        ground.ledger = AllSifted(ground.ledger, layers, ground.clock, LocalBus())
        yield ground
        await ground.close()
