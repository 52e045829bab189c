"""The work that runs have queued, from which the number of wanted workers is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.workers.scaling import LaneDemand


class Demand(Protocol):
    """1. For each run it returns the number of hosts with queued work, and the state of some of these hosts.
    2. The cost for a run is bounded by `limit` hosts.
    3. A host that several runs have work for is returned with the limits of the strictest run.
    """

    async def lanes(self, runs: Sequence[int], limit: int) -> dict[int, tuple[int, list[LaneDemand]]]:
        """Return the number of hosts of each run, and up to `limit` of them."""
