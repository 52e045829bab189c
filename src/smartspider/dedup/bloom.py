"""A Bloom filter over fingerprints, in blocks of 128 bytes; it grows by adding filters.

A fingerprint is uniform, so its bytes are the hash: the first six select the block, the other ten the
sixteen bits in it. Redis computes the same bits (`backends/redis/dedup/lua/bloom.lua`), so that
filters can be copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

BLOCK_BYTES = 128
KEYS_PER_BLOCK = 32
"""32 bits per key: a full filter errs on about one of 500,000 keys."""
FIRST_CAPACITY = (1 << 14) - KEYS_PER_BLOCK
LARGEST_CAPACITY = (1 << 24) - KEYS_PER_BLOCK
"""One block less than a power of two: with its header an allocator would round a power of two up by a
quarter.
"""
GROWTH = 4
PROMISED_ERRORS = 1e-4
"""Upper bound of the false positive rate of a scalable filter."""


class Bits(Protocol):
    """A writable buffer: a bytearray or a mapped file."""

    def __getitem__(self, position: int) -> int: ...

    def __setitem__(self, position: int, value: int) -> None: ...

    def __len__(self) -> int: ...


def capacity_of(number: int, first: int = FIRST_CAPACITY) -> int:
    """Return the capacity of a filter by its number: four times that of the one before, up to a maximum."""
    capacity = first
    for _ in range(number):
        if capacity >= LARGEST_CAPACITY:
            break
        capacity = min(capacity * GROWTH, LARGEST_CAPACITY)
    return -(-capacity // KEYS_PER_BLOCK) * KEYS_PER_BLOCK


def size_of(capacity: int) -> int:
    """Return the size in bytes of a filter with this capacity."""
    return capacity // KEYS_PER_BLOCK * BLOCK_BYTES


def bits_of(fingerprint: bytes) -> tuple[int, ...]:
    """Return the sixteen bits of a fingerprint in its block: eight from its bytes, eight mixed from them."""
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
    """A filter of a fixed size. It has no false negatives."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self._blocks = len(bits) // BLOCK_BYTES

    def __contains__(self, fingerprint: bytes) -> bool:
        return self.has(fingerprint, bits_of(fingerprint))

    def has(self, fingerprint: bytes, positions: tuple[int, ...]) -> bool:
        """Return whether a key was added; `positions` is its `bits_of`."""
        bits, start = self._bits, self._start(fingerprint)
        return all(bits[start + (position >> 3)] >> (position & 7) & 1 for position in positions)

    def add(self, fingerprint: bytes, positions: tuple[int, ...] | None = None) -> None:
        """Add a key."""
        bits, start = self._bits, self._start(fingerprint)
        for position in positions or bits_of(fingerprint):
            bits[start + (position >> 3)] |= 1 << (position & 7)

    def _start(self, fingerprint: bytes) -> int:
        return int.from_bytes(fingerprint[:6], "big") % self._blocks * BLOCK_BYTES


Allocate = Callable[[int, int], Bits | None]
"""Returns a zeroed buffer for the filter with a number; None if there is no space."""


def _in_memory(_number: int, size: int) -> Bits:
    return bytearray(size)


class ScalableBloomFilter:
    """A series of filters that grows with the number of keys, as far as buffers are available.

    The false positive rate stays below `PROMISED_ERRORS` up to some forty filters: half a billion keys.
    """

    def __init__(self, first: int = FIRST_CAPACITY, allocate: Allocate = _in_memory) -> None:
        self._first = first
        self.allocate = allocate
        self._filters: list[BloomFilter] = []
        self._room = 0
        self.bytes_used = 0

    def open(self, filters: Sequence[Bits], newest: int) -> None:
        """Continue with existing filters; the last one holds `newest` keys."""
        self._filters = [BloomFilter(bits) for bits in filters]
        self._room = capacity_of(len(filters) - 1, self._first) - newest if filters else 0
        self.bytes_used = sum(len(bits) for bits in filters)

    def find_known(self, fingerprints: Iterable[bytes]) -> set[bytes]:
        """Return the fingerprints that were added, and a few false positives."""
        return {one for one in fingerprints if self._has(one, bits_of(one))}

    def add(self, fingerprints: Iterable[bytes]) -> tuple[int, int]:
        """Add fingerprints; return how many were new, and how many were refused for lack of space."""
        added = refused = 0
        for one in fingerprints:
            positions = bits_of(one)
            if self._has(one, positions):
                continue
            if self._room <= 0 and not self._grow():
                refused += 1
                continue
            self._filters[-1].add(one, positions)
            self._room -= 1
            added += 1
        return added, refused

    def _has(self, fingerprint: bytes, positions: tuple[int, ...]) -> bool:
        # The newest filter is the largest, and most lookups hit it.
        return any(each.has(fingerprint, positions) for each in reversed(self._filters))

    @property
    def newest(self) -> int:
        """Number of keys in the last filter."""
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
