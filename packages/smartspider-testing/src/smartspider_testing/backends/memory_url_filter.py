"""An exact URL filter in memory, the reference for other filters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from smartspider.dedup.url_filter import FilterAddition, FilterKey, FilterSize

ENTRY_BYTES = 25


class MemoryUrlFilter:
    """An exact filter that implements `dedup/url_filter.py`."""

    def __init__(self, max_bytes: int = 1_000_000) -> None:
        self._max_bytes = max_bytes
        self._days: dict[FilterKey, dict[bytes, int]] = {}

    async def find_known(
        self, key: FilterKey, fingerprints: Sequence[bytes], *, since_day: int = 0
    ) -> set[bytes]:
        """Return the known ones of `fingerprints`."""
        days = self._days.get(key, {})
        return {one for one in fingerprints if one in days and days[one] >= since_day}

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes], *, day: int = 0) -> FilterAddition:
        """Add the fingerprints of committed rows."""
        new = refused = 0
        for one in fingerprints:
            days = self._days.get(key, {})
            if one in days:
                days[one] = max(days[one], day)
            elif (await self.size()).bytes_used + ENTRY_BYTES > self._max_bytes:
                refused += 1
            else:
                self._days.setdefault(key, {})[one] = day
                new += 1
        return FilterAddition(new, refused, await self.size())

    async def drop(self, key: FilterKey) -> None:
        """Delete a key."""
        self._days.pop(key, None)

    async def keys(self) -> list[FilterKey]:
        """Return all keys."""
        return sorted(self._days)

    async def size(self) -> FilterSize:
        """Return the size of the filter."""
        entries = sum(len(days) for days in self._days.values())
        return FilterSize(entries, entries * ENTRY_BYTES, self._max_bytes)

    async def entries(self, key: FilterKey) -> AsyncIterator[list[bytes]]:
        """Yield all fingerprints of a key."""
        if days := self._days.get(key):
            yield list(days)
