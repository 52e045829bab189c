"""An exact URL filter in memory, the reference for other filters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from smartspider.dedup.url_filter import FilterAddition, FilterKey, FilterSize

ENTRY_BYTES = 25


class MemoryUrlFilter:
    """An exact filter that implements `dedup/url_filter.py`."""

    def __init__(self, max_bytes: int = 1_000_000) -> None:
        self._max_bytes = max_bytes
        self._known: dict[FilterKey, set[bytes]] = {}

    async def find_known(self, key: FilterKey, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Return the known ones of `fingerprints`."""
        return self._known.get(key, set()).intersection(fingerprints)

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes]) -> FilterAddition:
        """Add the fingerprints of committed rows."""
        new = refused = 0
        for one in fingerprints:
            if one in self._known.get(key, ()):
                continue
            if (await self.size()).bytes_used + ENTRY_BYTES > self._max_bytes:
                refused += 1
            else:
                self._known.setdefault(key, set()).add(one)
                new += 1
        return FilterAddition(new, refused, await self.size())

    async def drop(self, key: FilterKey) -> None:
        """Delete a key."""
        self._known.pop(key, None)

    async def keys(self) -> list[FilterKey]:
        """Return all keys."""
        return sorted(self._known)

    async def size(self) -> FilterSize:
        """Return the size of the filter."""
        entries = sum(map(len, self._known.values()))
        return FilterSize(entries, entries * ENTRY_BYTES, self._max_bytes)

    async def entries(self, key: FilterKey) -> AsyncIterator[list[bytes]]:
        """Yield all fingerprints of a key."""
        if known := self._known.get(key):
            yield list(known)
