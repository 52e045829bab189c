"""A Bloom filter over fingerprints: in blocks of 128 bytes, and growing by further filters.

A fingerprint is uniform already, so its bytes are the hash: the first six choose the block, the other ten
the sixteen bits in it. Redis computes the same places (`backends/redis/dedup/library/bloom.lua`), so that
filters can be copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

BLOCK_BYTES = 128
KEYS_PER_BLOCK = 32
"""32 bits a key: one filter errs on about one of 500,000 keys when it is full."""
FIRST_CAPACITY = (1 << 14) - KEYS_PER_BLOCK
LARGEST_CAPACITY = (1 << 24) - KEYS_PER_BLOCK
"""A block less than a power of two: with its header an allocator would round more up by a quarter."""
GROWTH = 4
PROMISED_ERRORS = 1e-4
"""How much of what is new a growing filter takes for known, at most."""


class Bits(Protocol):
    """Bytes that can be written to: a bytearray, or a mapped file."""

    def __getitem__(self, place: int) -> int: ...

    def __setitem__(self, place: int, value: int) -> None: ...

    def __len__(self) -> int: ...


def capacity_of(number: int, first: int = FIRST_CAPACITY) -> int:
    """How many keys the filter with this number takes: four times those of the one before, up to a bound."""
    capacity = first
    for _ in range(number):
        if capacity >= LARGEST_CAPACITY:
            break
        capacity = min(capacity * GROWTH, LARGEST_CAPACITY)
    return -(-capacity // KEYS_PER_BLOCK) * KEYS_PER_BLOCK


def size_of(capacity: int) -> int:
    """Bytes of a filter for so many keys."""
    return capacity // KEYS_PER_BLOCK * BLOCK_BYTES


def bits_of(fingerprint: bytes) -> tuple[int, ...]:
    """The sixteen bits of a block that stand for a fingerprint: eight from its bytes, eight mixed of them."""
    left, right = int.from_bytes(fingerprint[6:11], "big"), int.from_bytes(fingerprint[11:16], "big")
    a, b, c, d = left & 1023, left >> 10 & 1023, left >> 20 & 1023, left >> 30
    e, f, g, h = right & 1023, right >> 10 & 1023, right >> 20 & 1023, right >> 30
    return (
        *(a, b, c, d, e, f, g, h),
        *(5 * a + 3 * b + d & 1023, 5 * b + 3 * c + e & 1023),
        *(5 * c + 3 * d + f & 1023, 5 * d + 3 * e + g & 1023),
        *(5 * e + 3 * f + h & 1023, 5 * f + 3 * g + a & 1023),
        *(5 * g + 3 * h + b & 1023, 5 * h + 3 * a + c & 1023),
    )


class BloomFilter:
    """One filter of a fixed size. It never denies a key that was added."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self._blocks = len(bits) // BLOCK_BYTES

    def __contains__(self, fingerprint: bytes) -> bool:
        return self.has(fingerprint, bits_of(fingerprint))

    def has(self, fingerprint: bytes, places: tuple[int, ...]) -> bool:
        """Whether a key is in, where its `bits_of` are known."""
        bits, start = self._bits, self._start(fingerprint)
        return all(bits[start + (place >> 3)] >> (place & 7) & 1 for place in places)

    def add(self, fingerprint: bytes, places: tuple[int, ...] | None = None) -> None:
        """From now on this key is in."""
        bits, start = self._bits, self._start(fingerprint)
        for place in places or bits_of(fingerprint):
            bits[start + (place >> 3)] |= 1 << (place & 7)

    def _start(self, fingerprint: bytes) -> int:
        return int.from_bytes(fingerprint[:6], "big") % self._blocks * BLOCK_BYTES


Allocate = Callable[[int, int], Bits | None]
"""Zeroed bytes for the filter with a number; None: there are no more."""


def _in_memory(_number: int, size: int) -> Bits:
    return bytearray(size)


class ScalableBloomFilter:
    """Filters that together take any number of keys, as far as bytes are given to them.

    Errors stay below `PROMISED_ERRORS` up to some forty filters: half a billion keys.
    """

    def __init__(self, first: int = FIRST_CAPACITY, allocate: Allocate = _in_memory) -> None:
        self._first = first
        self.allocate = allocate
        self._filters: list[BloomFilter] = []
        self._room = 0
        self.bytes_used = 0

    def open(self, filters: Sequence[Bits], newest: int) -> None:
        """Go on with filters that are there; the last of them holds `newest` keys."""
        self._filters = [BloomFilter(bits) for bits in filters]
        self._room = capacity_of(len(filters) - 1, self._first) - newest if filters else 0
        self.bytes_used = sum(len(bits) for bits in filters)

    def find_known(self, fingerprints: Iterable[bytes]) -> set[bytes]:
        """Those that were added, and a few others."""
        return {one for one in fingerprints if self._has(one, bits_of(one))}

    def add(self, fingerprints: Iterable[bytes]) -> tuple[int, int]:
        """How many of these were added, and how many were not because there was no room."""
        added = refused = 0
        for one in fingerprints:
            places = bits_of(one)
            if self._has(one, places):
                continue
            if self._room <= 0 and not self._grow():
                refused += 1
                continue
            self._filters[-1].add(one, places)
            self._room -= 1
            added += 1
        return added, refused

    def _has(self, fingerprint: bytes, places: tuple[int, ...]) -> bool:
        # The newest filter is the largest, and mostly holds what is asked for.
        return any(each.has(fingerprint, places) for each in reversed(self._filters))

    @property
    def newest(self) -> int:
        """How many keys the last filter holds."""
        return capacity_of(len(self._filters) - 1, self._first) - self._room if self._filters else 0

    def _grow(self) -> bool:
        number = len(self._filters)
        size = size_of(capacity_of(number, self._first))
        bits = self.allocate(number, size)
        if bits is None:
            return False
        self._filters.append(BloomFilter(bits))
        self._room = capacity_of(number, self._first)
        self.bytes_used += size
        return True
