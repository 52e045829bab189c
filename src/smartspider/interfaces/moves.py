"""How a frontier apart from the store hears of what was committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.frontier.lease import FencingToken, Lease
from smartspider.core.frontier.updates import FrontierUpdate


class MoveTaker(Protocol):
    """1. Moves are carried out in order: gates, offers, leases. An ack never overtakes an offer
       to a frontier that answers; links for a part of it that is away are left to the keeper.
    2. Carried out twice they do no harm. What cannot be carried out in a lease time is given up: the keeper
       offers open rows, and leases run out.
    """

    async def carry_out(self, moves: FrontierUpdate) -> None:
        """Tell the frontier what was committed."""

    async def held(self, leases: Sequence[Lease]) -> set[FencingToken]:
        """Those of the leases that are still held."""
