"""Hosts and what is known of their gates, for those who look at them and turn their knobs."""

from __future__ import annotations

from typing import Protocol

import msgspec


class HostRecord(msgspec.Struct, frozen=True):
    """A host as the store knows it."""

    host: str
    domain: str
    """Registrable domain: hosts of one share its cap."""
    run_s: float
    """The longest delay of the runs that stand there."""
    robots_s: float
    adaptive_s: float
    operator_s: float
    held_until: float
    """In store time; 0: it is not held."""
    hold_reason: str
    is_on_trial: bool
    """Its circuit has opened and no answer was good since: one request at a time."""
    in_flight: int
    runs: int
    """That stand there."""

    @property
    def delay_s(self) -> float:
        """Seconds from start to start: the longest of all who have a say."""
        return max(self.run_s, self.robots_s, self.adaptive_s, self.operator_s)


class HostBook(Protocol):
    """1. Hosts are listed by name, by a cursor that never skips or repeats one.
    2. Nothing is ever changed by asking; a host that nobody met is not there.
    """

    def now(self) -> float:
        """Store time, which holds are told in."""

    async def find(self, *, is_held: bool = False, after: str = "", limit: int = 100) -> list[HostRecord]:
        """Hosts with a name greater than `after`; only those that are held now, if asked."""

    async def get(self, host: str) -> HostRecord:
        """One of them."""
