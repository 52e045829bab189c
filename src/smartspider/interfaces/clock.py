"""An injected clock."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """1. `now` is wall time in seconds. 2. `monotonic` never goes back. 3. `sleep` waits as long as asked."""

    def now(self) -> float:
        """Return the seconds since 1970."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment; they never go back."""

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
