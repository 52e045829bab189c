"""Fair shares: a limited number of slots, divided among the users who ask for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


class Shares:
    """The slots of one kind of work, and who holds them.

    1. A holder gets one slot, and further ones up to half of what the others leave free.
    2. The slots of `reserve`, beyond the total, go only to those who hold none: what some hold never shuts
       out the next one.
    3. Among those who wait, the one with the fewest slots is next, then the one who got a slot longest ago.
    """

    def __init__(self, total: int, reserve: int = 0) -> None:
        self.total, self.reserve = total, reserve
        self._held: Counter[str] = Counter()
        self._in_use = self._taken = 0
        self._last: dict[str, int] = {}
        """The number of the last slot that each holder took."""

    @property
    def in_use(self) -> int:
        """The number of slots that are held."""
        return self._in_use

    def held_by(self, holder: str) -> int:
        """Return the number of slots of a holder."""
        return self._held[holder]

    def most_for(self, holder: str) -> int:
        """Return how many slots a holder may have while the others keep theirs."""
        left = self.total - (self._in_use - self._held[holder])
        return max(1, left // 2)

    def has_room(self, holder: str) -> bool:
        """Return whether a holder may take a slot now."""
        held = self._held[holder]
        if held:
            return held < self.most_for(holder)
        return self._in_use < self.total + self.reserve

    def take(self, holder: str) -> None:
        """Count a slot that a holder takes."""
        self._held[holder] += 1
        self._in_use += 1
        self._taken += 1
        self._last[holder] = self._taken

    def give_back(self, holder: str) -> None:
        """Count a slot that a holder gives back."""
        self._held[holder] -= 1
        self._in_use -= 1
        if not self._held[holder]:
            del self._held[holder]

    def next_of(self, waiting: Sequence[str]) -> int | None:
        """Return the position of the holder whose turn it is; None if no slot is free for any of them."""
        fitting = [
            (self._held[holder], self._last.get(holder, 0), place)
            for place, holder in enumerate(waiting)
            if self.has_room(holder)
        ]
        return min(fitting)[-1] if fitting else None
