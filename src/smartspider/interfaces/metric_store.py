"""Sums over all workers, for monitoring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

Key = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name, and its labels by name."""


class MetricStore(Protocol):
    """1. What is added is summed, also when several processes add at once.
    2. There are at most 2,000 different keys; more are not kept.
    """

    async def add(self, deltas: Mapping[Key, float]) -> None:
        """Add to sums."""

    async def sums(self) -> dict[Key, float]:
        """All sums."""

    async def gauges(self) -> dict[Key, float]:
        """What can be counted now: requests by state of runs, leases, hosts held, workers."""
