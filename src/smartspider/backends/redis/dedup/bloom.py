"""Bloom filters in Redis: four bytes per fingerprint, with false positives; and a local copy of them, so that
new URLs cost no round trip.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from smartspider.backends.redis.dedup.functions import FilterCall, FilterFunctions, chosen, packed, totals
from smartspider.dedup.bloom import FIRST_CAPACITY, BloomFilter, capacity_of, size_of
from smartspider.dedup.url_filter import FilterAddition, FilterKey, FilterSize, parse_filter_key

BUDGET = 256_000_000


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

    async def find_known(
        self, key: FilterKey, fingerprints: Sequence[bytes], *, since_day: int = 0
    ) -> set[bytes]:
        """Return the added fingerprints and a few false positives; days are ignored."""
        del since_day
        functions = self._functions
        groups = functions.split(fingerprints)
        calls = [functions.function(part, "bloom_known", str(key), packed(group)) for part, group in groups]
        return chosen(groups, await functions.round(calls))

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes], *, day: int = 0) -> FilterAddition:
        """Add fingerprints whose rows are committed."""
        del day
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
        calls = [self._functions.command(part, "SMEMBERS", "blooms") for part in range(self._functions.parts)]
        names = {name.decode() for answer in await self._functions.round(calls) for name in answer}
        return sorted(key for key in map(parse_filter_key, names) if key is not None)

    async def size(self) -> FilterSize:
        """Return the size. Filters are allocated whole."""
        return self._size(await self._functions.round(self._sizes()))

    def _sizes(self) -> list[FilterCall]:
        return [self._functions.command(part, "GET", "bits") for part in range(self._functions.parts)]

    def _size(self, answers: Sequence[bytes | None]) -> FilterSize:
        return FilterSize(0, sum(int(answer or 0) for answer in answers), self._max_bytes)


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
