"""Layers in front of the store's unique key: what is known need not be asked there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec


FilterMode = Literal["off", "exact", "exact+bloom"]
"""The filters all tasks share in front of the store: none, the exact set, or the exact set behind a Bloom
filter.
"""


class FilterKey(msgspec.Struct, frozen=True, order=True):
    """Whose knowledge it is. `epoch` changes whenever committed rows may be gone: another store, one that was
    restored, or a standby that took over; what was known before is then not asked any more.
    """

    kind: Literal["run", "task"]
    id: int
    epoch: str = ""
    window_days: int = 0
    """Of a task: the window that its runs share."""

    def __str__(self) -> str:
        return f"{self.kind}.{self.id}.{self.window_days}.{self.epoch}"


def parse_filter_key(text: str) -> FilterKey | None:
    """The key that is written so; None for anything else."""
    kind, _, rest = text.partition(".")
    number, _, rest = rest.partition(".")
    days, _, epoch = rest.partition(".")
    if kind not in ("run", "task") or not number.isdigit() or not days.isdigit():
        return None
    return FilterKey("run" if kind == "run" else "task", int(number), epoch, int(days))


class FilterSize(msgspec.Struct, frozen=True):
    """How large a layer is, all keys together."""

    entries: int
    bytes_used: int
    bytes_max: int

    @property
    def share(self) -> float:
        """Of its budget."""
        return self.bytes_used / self.bytes_max if self.bytes_max else 1.0


class FilterAddition(msgspec.Struct, frozen=True):
    """What came of adding: `refused` did not fit into the budget."""

    new: int
    refused: int
    size: FilterSize


class UrlFilter(Protocol):
    """Fingerprints that are known, by key.

    1. Known is only what was added under the same key; a lossy layer errs, but on less than one new
       fingerprint in ten thousand. Whoever adds does so after the commit of the row.
    2. What was added is known until it is dropped or the layer loses it; losing is always allowed.
    3. Adding again changes nothing but the day, which only grows. An exact layer knows the day: `since_day`
       names only what was added on it or later.
    4. What is dropped is not known any more, at once, also when it takes longer to free its memory.
    5. A layer never takes more than its budget: what does not fit is refused, counted, and not known.
    6. Any number at a time; whoever asks for many does so in one call.
    """

    async def find_known(
        self, key: FilterKey, fingerprints: Sequence[bytes], *, since_day: int = 0
    ) -> set[bytes]:
        """Those of them that are known."""

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes], *, day: int = 0) -> FilterAddition:
        """Their rows are committed: from now on they are known."""

    async def drop(self, key: FilterKey) -> None:
        """Forget all of a key."""

    async def keys(self) -> list[FilterKey]:
        """All there are."""

    async def size(self) -> FilterSize:
        """How large it is."""


class ExactUrlFilter(UrlFilter, Protocol):
    """7. What an exact layer holds can be listed, and so compared with the store."""

    def entries(self, key: FilterKey) -> AsyncIterator[list[bytes]]:
        """All that is known under a key while it is listed; what is added meanwhile may be left out."""


class LocalFront(Protocol):
    """A layer that may only say "certainly new", and so spares the question to the next."""

    def find_possibly_known(self, key: FilterKey, fingerprints: Iterable[bytes]) -> set[bytes]:
        """All but those that are certainly new, as far as this process knows."""

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes]) -> FilterSize:
        """These are known from now on, to all who refresh."""

    async def refresh(self, key: FilterKey) -> None:
        """Learn a little of what others noted."""

    def forget(self, key: FilterKey) -> None:
        """Nobody asks here any more: what was learned is let go."""


class DistinctEstimates(Protocol):
    """About how many distinct requests there are, with a standard error of 0.81 %; never exact or large."""

    async def add(self, keys: Sequence[FilterKey], fingerprints: Sequence[bytes]) -> None:
        """These belong to all of the keys."""

    async def estimate(self, keys: Sequence[FilterKey]) -> dict[FilterKey, int]:
        """How many each has; 0 when nothing was noted."""


class FilterStack(msgspec.Struct, frozen=True):
    """What stands between workers and the store; all of it may be missing."""

    exact: ExactUrlFilter | None = None
    front: LocalFront | None = None
    """Before the exact one."""
    lossy: UrlFilter | None = None
    """For tasks with `dedup.urls: bloom`, and for these only."""
    estimates: DistinctEstimates | None = None


class StoredUrls(Protocol):
    """What the store says, who is always right."""

    async def stored(self, run_id: int, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Those of them that have a row in the run."""

    async def totals(self, run_ids: Sequence[int]) -> Mapping[int, int]:
        """How many rows the runs have; runs that are not there are left out."""

    async def epoch(self) -> str:
        """The epoch of the store, see `FilterKey`."""
