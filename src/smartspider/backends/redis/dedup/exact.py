"""The exact set in Redis: about 23 bytes per fingerprint, shared by all workers."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence

from smartspider.backends.redis.dedup.functions import SIZE, FilterCall, FilterFunctions, packed, totals
from smartspider.dedup.url_filter import FilterAddition, FilterKey, FilterSize

ENTRY_BYTES = 25
"""Bytes an entry counts as; measured are 21 to 24 from a thousand entries on."""
BUDGET = 256_000_000
LISTED = 20
"""Buckets per call of a listing."""
SWEPT = 500
"""Buckets of a dropped set freed per call."""


class RedisUrlFilter:
    """See `dedup/url_filter.py`. The budget applies to all keys of an installation."""

    def __init__(self, functions: FilterFunctions, *, max_bytes: int = BUDGET) -> None:
        self._functions = functions
        self._max_bytes = max_bytes
        self._most = max_bytes // ENTRY_BYTES // functions.parts

    async def find_known(self, key: FilterKey, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Return the known ones among the fingerprints."""
        return await self._functions.find_known("known", key, fingerprints)

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes]) -> FilterAddition:
        """Add fingerprints whose rows are committed."""
        functions = self._functions
        await functions.prepare()
        fresh = secrets.token_hex(6)
        adding = [
            functions.function(part, "add", str(key), fresh, functions.fill, self._most, packed(group))
            for part, group in functions.split(fingerprints)
        ]
        answers = await functions.round([*adding, *self._sizes()])
        return FilterAddition(*totals(answers[: len(adding)]), self._size(answers[len(adding) :]))

    async def drop(self, key: FilterKey) -> None:
        """Drop all fingerprints of a key; its memory is freed in steps."""
        functions = self._functions
        parts = range(functions.parts)
        await functions.round([functions.function(part, "drop", str(key)) for part in parts])
        while any(await functions.round([functions.function(part, "sweep", SWEPT) for part in parts])):
            pass

    async def keys(self) -> list[FilterKey]:
        """Return all keys."""
        return await self._functions.keys("sets")

    async def size(self) -> FilterSize:
        """Return the size: entries are counted, bytes are derived from them."""
        return self._size(await self._functions.round(self._sizes()))

    def _sizes(self) -> list[FilterCall]:
        return [self._functions.command(part, "GET", "entries") for part in range(self._functions.parts)]

    def _size(self, answers: Sequence[bytes | None]) -> FilterSize:
        entries = sum(int(answer or 0) for answer in answers)
        return FilterSize(entries, entries * ENTRY_BYTES, self._max_bytes)

    async def entries(self, key: FilterKey) -> AsyncIterator[list[bytes]]:
        """Yield the fingerprints of a key, part by part."""
        functions = self._functions
        for part in range(functions.parts):
            bucket = 0
            while bucket >= 0:
                call = functions.function(part, "list", str(key), bucket, LISTED)
                ((bucket, found),) = await functions.round([call])
                if found:
                    yield [found[start : start + SIZE] for start in range(0, len(found), SIZE)]
