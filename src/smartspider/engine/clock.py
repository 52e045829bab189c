"""The clock of real life."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """See `interfaces/clock.py`."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
