"""What watchers of runs are told, kept so that nobody who was away misses any of it."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.events import RunEvent


class EventFeed(Protocol):
    """1. Events of a run are numbered 1, 2, 3, ... in the order of their transactions, without a gap.
    2. An event stands or falls with the write it tells of: a state, a hold, a guard, a turned knob.
    3. Progress is told when something changed, at most every `PROGRESS_EVERY_S`, and a last time when a run
       ends, with the final counters.
    4. Only the oldest events of a run are ever forgotten, and it is known up to which.
    5. Reading costs what is read, whatever else is stored.
    """

    async def of_run(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[RunEvent]:
        """Events of a run with a greater number than `after`, oldest first."""

    async def since(self, event_id: int, *, limit: int = 1000) -> list[RunEvent]:
        """Events of all runs with a greater id, oldest first."""

    async def last_id(self) -> int:
        """The id of the newest event; 0 before the first."""

    async def first_number(self, run_id: int) -> int:
        """The number of the oldest event of a run that is still kept; 1 when none was forgotten."""

    async def trim(self, run_id: int, keep: int) -> int:
        """Forget all but the newest events of a run; how many."""
