"""Estimated distinct requests of a run or a task: HyperLogLog, at most 12 kB each."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.backends.redis.dedup.functions import FilterFunctions
from smartspider.dedup.url_filter import FilterKey

KEPT_S = 400 * 86_400
"""Expiry of an estimate after its last addition."""


class RedisDistinctEstimates:
    """See `dedup/url_filter.py`."""

    def __init__(self, functions: FilterFunctions) -> None:
        self._functions = functions

    async def add(self, keys: Sequence[FilterKey], fingerprints: Sequence[bytes]) -> None:
        """Count fingerprints for all of the keys."""
        if not fingerprints:
            return
        calls = []
        for key in keys:
            name = f"about:{key}"
            calls.append(self._functions.command(0, "PFADD", name, *fingerprints))
            calls.append(self._functions.command(0, "EXPIRE", name, KEPT_S))
        await self._functions.round(calls)

    async def estimate(self, keys: Sequence[FilterKey]) -> dict[FilterKey, int]:
        """Return the estimate of each key."""
        calls = [self._functions.command(0, "PFCOUNT", f"about:{key}") for key in keys]
        return dict(zip(keys, map(int, await self._functions.round(calls)), strict=True))
