"""URL filters in front of the store's unique key: a URL that a filter knows needs no lookup in the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

FilterMode = Literal["off", "exact"]
"""The filter all tasks share in front of the store: none, or the exact set."""


class FilterKey(msgspec.Struct, frozen=True, order=True):
    """The owner of a set of fingerprints. `epoch` changes whenever committed rows may be lost: another store,
    a restored one, or a standby that took over. Sets of earlier epochs are not used.
    """

    kind: Literal["run", "task"]
    id: int
    epoch: str = ""

    def __str__(self) -> str:
        return f"{self.kind}.{self.id}.{self.epoch}"


def parse_filter_key(text: str) -> FilterKey | None:
    """Parse the text of a key; None for any other text."""
    kind, _, rest = text.partition(".")
    number, has_epoch, epoch = rest.partition(".")
    if kind not in ("run", "task") or not number.isdigit() or not has_epoch:
        return None
    return FilterKey("run" if kind == "run" else "task", int(number), epoch)


class FilterSize(msgspec.Struct, frozen=True):
    """The size of a filter, all keys together."""

    entries: int
    bytes_used: int
    bytes_max: int

    @property
    def share(self) -> float:
        """Used share of the budget."""
        return self.bytes_used / self.bytes_max if self.bytes_max else 1.0


class FilterAddition(msgspec.Struct, frozen=True):
    """The result of adding; `refused` exceeded the budget."""

    new: int
    refused: int
    size: FilterSize


class UrlFilter(Protocol):
    """A set of known fingerprints per key.

    1. Only fingerprints added under the same key are known; a lossy filter errs on less than one new
    fingerprint in ten thousand. Fingerprints are added after the commit of their rows.
    2. An added fingerprint is known until it is dropped or the filter loses it; losing is always allowed.
    3. Adding again changes nothing.
    4. A dropped key is unknown at once, even if freeing its memory takes longer.
    5. A filter never exceeds its budget: what does not fit is refused, counted, and unknown.
    6. Calls take any number of fingerprints at a time.
    """

    async def find_known(self, key: FilterKey, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Return the known ones among the fingerprints."""

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes]) -> FilterAddition:
        """Add fingerprints whose rows are committed."""

    async def drop(self, key: FilterKey) -> None:
        """Drop all fingerprints of a key."""

    async def keys(self) -> list[FilterKey]:
        """Return all keys."""

    async def size(self) -> FilterSize:
        """Return the size."""


class ExactUrlFilter(UrlFilter, Protocol):
    """7. The fingerprints of an exact filter can be listed, to compare them with the store."""

    def entries(self, key: FilterKey) -> AsyncIterator[list[bytes]]:
        """Yield the fingerprints of a key; those added meanwhile may be missing."""


class DistinctEstimates(Protocol):
    """Estimated numbers of distinct requests, with a standard error of 0.81 %, in little memory."""

    async def add(self, keys: Sequence[FilterKey], fingerprints: Sequence[bytes]) -> None:
        """Count fingerprints for all of the keys."""

    async def estimate(self, keys: Sequence[FilterKey]) -> dict[FilterKey, int]:
        """Return the estimate of each key; 0 if nothing was counted."""


class FilterStack(msgspec.Struct, frozen=True):
    """The filters between workers and the store; each is optional."""

    exact: ExactUrlFilter | None = None
    lossy: UrlFilter | None = None
    """Only for tasks with `dedup.urls: bloom`."""
    estimates: DistinctEstimates | None = None


class StoredUrls(Protocol):
    """The stored URLs, which are always right."""

    async def stored(self, run_id: int, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Return the fingerprints that have a row in the run."""

    async def totals(self, run_ids: Sequence[int]) -> Mapping[int, int]:
        """Return the number of rows of each run; missing runs are left out."""

    async def epoch(self) -> str:
        """Return the epoch of the store, see `FilterKey`."""
