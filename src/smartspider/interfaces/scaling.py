"""How many workers are wanted: what that is decided from, and where the figure is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.workers.scaling import LaneDemand, RunDemand, ScalingDecision


class ScalingStore(Protocol):
    """1. A figure is kept only for the leader of the newest term (`TermOver` for any other).
    2. The last one that was kept is told, also by other processes.
    3. All runs that are worked on, or wait to be, are told with what is open in them; none that is paused.
    """

    async def runs(self) -> list[RunDemand]:
        """Runs that workers are wanted for, without their lanes."""

    async def keep(self, epoch: int, figure: ScalingDecision) -> None:
        """This is wanted now."""

    async def figure(self) -> ScalingDecision | None:
        """What was wanted last; None: nobody has said yet."""


class Demand(Protocol):
    """1. Of each run it is told how many hosts it has work queued for, and of some of these how they stand.
    2. Looking at a run costs no more than `limit` hosts, however many it has.
    3. A host that several runs have work for is told as the strictest of them wants it.
    """

    async def lanes(self, runs: Sequence[int], limit: int) -> dict[int, tuple[int, list[LaneDemand]]]:
        """The number of hosts of each run, and some of them."""
