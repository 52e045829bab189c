"""The store's part of settling, where the frontier is apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.lease import Token
from smartspider.core.placing import Moves
from smartspider.core.verdict import Settlement
from smartspider.interfaces.ledger import SettleReport


class StoreLedger(Protocol):
    """1. What `Ledger` promises, as far as rows go. 2. What the moves say is committed."""

    async def settle(
        self, settlements: Sequence[Settlement], held: set[Token] | None
    ) -> tuple[SettleReport, Moves]:
        """Carry out verdicts; failures count of leases in `held`, and of all when it is None."""
