"""A worker's memory of stored URLs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

LOCAL_BYTES = 64_000_000
FINGERPRINT_BYTES = 110
"""Memory of a fingerprint in a Python set."""


class RecentSet(Generic[T]):
    """The most recently added or queried values: at least `capacity`, at most twice as many. With `weigh`,
    capacity is a sum of weights, such as bytes.
    """

    def __init__(self, capacity: int = 100_000, weigh: Callable[[T], int] | None = None) -> None:
        self.capacity = capacity
        self._weigh = weigh
        self._young: set[T] = set()
        self._old: set[T] = set()
        self._young_weight = self._old_weight = 0

    def __contains__(self, value: T) -> bool:
        if value in self._young:
            return True
        if value in self._old:
            self.add(value)
            return True
        return False

    def __len__(self) -> int:
        return len(self._young | self._old)

    @property
    def weight(self) -> int:
        """Sum of all weights; a value that is added again may count twice for a while."""
        return self._young_weight + self._old_weight

    def add(self, value: T) -> None:
        """Add a value."""
        if value in self._young:
            return
        self._young.add(value)
        self._young_weight += 1 if self._weigh is None else self._weigh(value)
        if self._young_weight >= self.capacity:
            self._old, self._young = self._young, set()
            self._old_weight, self._young_weight = self._young_weight, 0

    def update(self, values: Iterable[T]) -> None:
        """Add values."""
        for value in values:
            self.add(value)

    def clear(self) -> None:
        """Remove all values."""
        self._young.clear()
        self._old.clear()
        self._young_weight = self._old_weight = 0


class WorkerMemory:
    """Committed fingerprints by run; the memory of all runs together is bounded."""

    def __init__(self, max_bytes: int = LOCAL_BYTES) -> None:
        self._max_bytes = max_bytes
        self._runs: dict[int, RecentSet[bytes]] = {}

    def for_run(self, run_id: int) -> RecentSet[bytes]:
        """Return the set of a run."""
        if run_id not in self._runs:
            self._runs[run_id] = RecentSet(1, lambda _: FINGERPRINT_BYTES)
            self._share()
        return self._runs[run_id]

    def retain(self, runs: Collection[int]) -> None:
        """Remove all other runs."""
        for run_id in self._runs.keys() - set(runs):
            self._runs.pop(run_id).clear()
        self._share()

    @property
    def bytes_used(self) -> int:
        """Memory of all runs."""
        return sum(known.weight for known in self._runs.values())

    def _share(self) -> None:
        for known in self._runs.values():
            known.capacity = max(self._max_bytes // 2 // len(self._runs), FINGERPRINT_BYTES)
