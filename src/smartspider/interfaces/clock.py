"""Time, injected."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """1. `now` is wall time in seconds. 2. `monotonic` never goes back. 3. `sleep` waits that long."""

    def now(self) -> float:
        """Seconds since 1970."""

    def monotonic(self) -> float:
        """Seconds since some moment, never going back."""

    async def sleep(self, seconds: float) -> None:
        """Come back after so many seconds."""
