"""The wall clock of a store, and whether store time follows it."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.clock_doubt import ClockStatus


class StoreClock(Protocol):
    """1. Store time is steady while the wall clock is doubted. 2. A clock that agrees again, stays as it is
    for long, or is confirmed, is followed, forward or back, and all that waits moves along.
    """

    async def status(self) -> ClockStatus:
        """Return both times, and the doubt if there is one."""

    async def confirm(self, actor: str) -> ClockStatus:
        """Believe the wall clock now."""

    async def follow(self, epoch: int) -> None:
        """Compare both, as the leader of this term."""
