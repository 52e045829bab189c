"""Finding what the frontier does not have and should."""

from __future__ import annotations

from typing import Protocol


class Replay(Protocol):
    """1. `is_whole` says whether the frontier holds as many requests of a run as are open, at little cost.
    2. Open rows are listed by a cursor that never skips or repeats one.
    """

    async def is_whole(self, run_id: int) -> bool:
        """Whether as many requests are queued, waiting or leased as are open."""

    async def open_rows(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[int]:
        """Ids of open rows of a run, greater than `after`."""
