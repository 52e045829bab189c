"""How many workers are wanted: what that is decided from, and where the figure is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.workers.scaling import LaneDemand


class Demand(Protocol):
    """1. Of each run it is told how many hosts it has work queued for, and of some of these how they stand.
    2. Looking at a run costs no more than `limit` hosts, however many it has.
    3. A host that several runs have work for is told as the strictest of them wants it.
    """

    async def lanes(self, runs: Sequence[int], limit: int) -> dict[int, tuple[int, list[LaneDemand]]]:
        """The number of hosts of each run, and some of them."""
