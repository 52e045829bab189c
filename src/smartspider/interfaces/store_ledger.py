"""The store's part of settling, where the frontier is apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.frontier.lease import FencingToken
from smartspider.core.frontier.updates import FrontierUpdate
from smartspider.core.frontier.verdict import Settlement
from smartspider.interfaces.ledger import SettleReport


class StoreLedger(Protocol):
    """1. What `Ledger` promises, as far as rows go. 2. What the moves say is committed."""

    async def settle(
        self, settlements: Sequence[Settlement], held: set[FencingToken] | None
    ) -> tuple[SettleReport, FrontierUpdate]:
        """Carry out verdicts; failures count of leases in `held`, and of all when it is None."""
