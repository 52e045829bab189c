"""Bloom filters in Redis: four bytes per fingerprint, with false positives."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from smartspider.backends.redis.dedup.functions import FilterCall, FilterFunctions, packed, totals
from smartspider.dedup.url_filter import FilterAddition, FilterKey, FilterSize

BUDGET = 256_000_000
FIRST_CAPACITY = (1 << 14) - 32
"""Keys of the first filter: one block less than a power of two, which an allocator would round up."""


class RedisBloomFilter:
    """A lossy filter, see `dedup/url_filter.py`; days are not kept. `capacity` is the expected number of
    keys; it grows beyond that.
    """

    def __init__(
        self, functions: FilterFunctions, *, max_bytes: int = BUDGET, capacity: int = FIRST_CAPACITY
    ) -> None:
        self._functions = functions
        self._max_bytes = max_bytes
        self._capacity = -(-capacity // functions.parts)

    async def find_known(self, key: FilterKey, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Return the added fingerprints and a few false positives."""
        return await self._functions.find_known("bloom_known", key, fingerprints)

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes]) -> FilterAddition:
        """Add fingerprints whose rows are committed."""
        functions = self._functions
        fresh, most = secrets.token_hex(6), self._max_bytes // functions.parts
        adding = [
            functions.function(part, "bloom_add", str(key), fresh, self._capacity, most, packed(group))
            for part, group in functions.split(fingerprints)
        ]
        answers = await functions.round([*adding, *self._sizes()])
        return FilterAddition(*totals(answers[: len(adding)]), self._size(answers[len(adding) :]))

    async def drop(self, key: FilterKey) -> None:
        """Drop all fingerprints of a key."""
        functions = self._functions
        await functions.round(
            [functions.function(part, "bloom_drop", str(key)) for part in range(functions.parts)]
        )

    async def keys(self) -> list[FilterKey]:
        """Return all keys."""
        return await self._functions.keys("blooms")

    async def size(self) -> FilterSize:
        """Return the size. Filters are allocated whole."""
        return self._size(await self._functions.round(self._sizes()))

    def _sizes(self) -> list[FilterCall]:
        return [self._functions.command(part, "GET", "bits") for part in range(self._functions.parts)]

    def _size(self, answers: Sequence[bytes | None]) -> FilterSize:
        return FilterSize(0, sum(int(answer or 0) for answer in answers), self._max_bytes)
