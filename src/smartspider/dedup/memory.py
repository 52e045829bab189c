"""What this worker knows to be stored already, so that a page's usual links cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

LOCAL_BYTES = 64_000_000
FINGERPRINT_BYTES = 110
"""What a fingerprint takes in a set of Python's."""


class RecentSet(Generic[T]):
    """The last values added or asked for, at least `capacity` and at most twice as many; `weigh` makes these
    sums of weights, such as bytes.
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
        """Of all values; one that is added again may count twice for a while."""
        return self._young_weight + self._old_weight

    def add(self, value: T) -> None:
        """Remember a value."""
        if value in self._young:
            return
        self._young.add(value)
        self._young_weight += 1 if self._weigh is None else self._weigh(value)
        if self._young_weight >= self.capacity:
            self._old, self._young = self._young, set()
            self._old_weight, self._young_weight = self._young_weight, 0

    def update(self, values: Iterable[T]) -> None:
        """Remember values."""
        for value in values:
            self.add(value)

    def clear(self) -> None:
        """Forget everything."""
        self._young.clear()
        self._old.clear()
        self._young_weight = self._old_weight = 0


class WorkerMemory:
    """Committed fingerprints in this worker's memory, by run and epoch; bounded in bytes for all runs."""

    def __init__(self, max_bytes: int = LOCAL_BYTES) -> None:
        self._max_bytes = max_bytes
        self._epoch = ""
        self._runs: dict[int, RecentSet[bytes]] = {}

    def for_run(self, run_id: int, epoch: str = "") -> RecentSet[bytes]:
        """What is known of a run. With another epoch everything known before is forgotten, also by those who
        still hold it.
        """
        self.set_epoch(epoch)
        if run_id not in self._runs:
            self._runs[run_id] = RecentSet(1, lambda _: FINGERPRINT_BYTES)
            self._share()
        return self._runs[run_id]

    def set_epoch(self, epoch: str) -> None:
        """Committed rows may be gone, if this is another epoch."""
        if epoch != self._epoch:
            self._epoch = epoch
            for known in self._runs.values():
                known.clear()

    def retain(self, runs: Collection[int]) -> None:
        """Forget all other runs."""
        for run_id in self._runs.keys() - set(runs):
            self._runs.pop(run_id).clear()
        self._share()

    @property
    def bytes_used(self) -> int:
        """Of all runs."""
        return sum(known.weight for known in self._runs.values())

    def _share(self) -> None:
        for known in self._runs.values():
            known.capacity = max(self._max_bytes // 2 // len(self._runs), FINGERPRINT_BYTES)
