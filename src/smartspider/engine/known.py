"""What this worker knows to be stored already, so that a page's usual links cost nothing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class RecentSet(Generic[T]):
    """The last values added, at least `capacity` and at most twice as many."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._young: set[T] = set()
        self._old: set[T] = set()

    def __contains__(self, value: T) -> bool:
        return value in self._young or value in self._old

    def add(self, value: T) -> None:
        """Remember a value."""
        self._young.add(value)
        if len(self._young) >= self._capacity:
            self._old, self._young = self._young, set()

    def update(self, values: Iterable[T]) -> None:
        """Remember values."""
        for value in values:
            self.add(value)

    def clear(self) -> None:
        """Forget everything."""
        self._young.clear()
        self._old.clear()
