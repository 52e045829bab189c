"""A local copy of the Bloom filters in Redis, so that new URLs cost no round trip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smartspider.backends.redis.dedup.bloom import RedisBloomFilter
from smartspider.backends.redis.dedup.functions import FilterFunctions
from smartspider.dedup.bloom import BloomFilter, capacity_of, size_of
from smartspider.dedup.url_filter import FilterKey, FilterSize

PIECE = 1 << 20
"""Bytes of each part copied per refresh."""


class _Copy:
    """The filters of one key and part, as far as they are copied."""

    def __init__(self) -> None:
        self._gen = b""
        self._bits: list[bytearray] = []
        self.filters: list[BloomFilter] = []
        self.number = self.start = 0

    def learn(self, gen: bytes, first: int, filters: int, piece: bytes) -> None:
        """Store a piece and advance to the next."""
        if gen != self._gen:
            self._gen, self._bits, self.filters = gen, [], []
        for number in range(len(self._bits), filters):
            self._bits.append(bytearray(size_of(capacity_of(number, first))))
            self.filters.append(BloomFilter(self._bits[number]))
        if self.number < len(self._bits):
            self._bits[self.number][self.start : self.start + len(piece)] = piece
            self.start += PIECE
        if self.number >= len(self._bits) or self.start >= len(self._bits[self.number]):
            self.number, self.start = (self.number + 1) % max(len(self._bits), 1), 0


class RedisLocalFront:
    """A `LocalFront` over `RedisBloomFilter`. It lags behind and may take a known URL for new: that costs the
    store a lookup, never a page.
    """

    def __init__(self, functions: FilterFunctions, filters: RedisBloomFilter) -> None:
        self._functions = functions
        self._filters = filters
        self._copies: dict[FilterKey, list[_Copy]] = {}

    def find_possibly_known(self, key: FilterKey, fingerprints: Iterable[bytes]) -> set[bytes]:
        """Return all but the fingerprints that are certainly new to this process."""
        copies = self._copies.get(key)
        if copies is None:
            return set(fingerprints)
        parts = self._functions.parts
        return {one for one in fingerprints if any(one in each for each in copies[one[0] % parts].filters)}

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes]) -> FilterSize:
        """Add fingerprints; those that do not fit stay certainly new."""
        return (await self._filters.add(key, fingerprints)).size

    async def refresh(self, key: FilterKey) -> None:
        """Copy the next piece of each part."""
        copies = self._copies.setdefault(key, [_Copy() for _ in range(self._functions.parts)])
        calls = [
            self._functions.function(part, "bloom_piece", str(key), copy.number, copy.start, PIECE)
            for part, copy in enumerate(copies)
        ]
        for copy, answer in zip(copies, await self._functions.round(calls), strict=True):
            copy.learn(*answer)

    def forget(self, key: FilterKey) -> None:
        """Free the copy of a key."""
        self._copies.pop(key, None)
