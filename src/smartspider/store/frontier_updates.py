"""What a transaction of the store means for the frontier.

Where both are one database it is carried out at once, in the same transaction; where the frontier is apart,
it is collected and told after the commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from smartspider.core.frontier.lease import Lease

SUSPECT_AFTER = 3
"""Returns after which a request is only handed out alone."""
BURY_AFTER = 3
"""Workers lost with nothing but this request in their hands."""
CRASHED = "crash: every worker that took it alone was lost"
"""Why it is dead then."""


class QueueEntry(msgspec.Struct, frozen=True, gc=False):
    """Where an open row goes: the lane of its host, by rank; smaller ranks come first."""

    url_id: int
    host_id: int
    rank: int
    host: str = ""
    """Its name, where that is at hand."""


class FrontierUpdates(Protocol):
    """1. What is offered is queued unless it is live. 2. Rows that are closed leave the frontier, wherever
    they are there. 3. Who lost a lease learns it here, and nothing of his is counted.
    """

    def offer(self, run_id: int, entries: Sequence[QueueEntry]) -> None:
        """Queue open rows."""

    def set_apart(self, run_id: int, entries: Sequence[QueueEntry], now: float) -> None:
        """Queue open rows that are only handed out alone."""

    def holds(self, lease: Lease) -> bool:
        """Whether a lease is the one that holds its row."""

    def ending(self, run_id: int) -> int:
        """How many leases of a run end with the transaction, and are counted as in flight until then."""

    def end(self, lease: Lease) -> None:
        """Its row is closed, so nobody needs it any more, whoever holds it now."""

    def postpone(self, lease: Lease, due_at: float) -> None:
        """End a lease that is held, and bring its row back later."""

    def release(self, lease: Lease, now: float) -> None:
        """End a lease, if it is still this one, and queue its row again if that is open."""

    def forget(self, run_id: int, url_id: int) -> None:
        """A row was closed that may be queued."""

    def forget_host(self, run_id: int, host_id: int, url_ids: Sequence[int]) -> None:
        """All open rows of a run for a host were closed."""

    def fence(self, run_id: int, url_ids: set[int]) -> set[int]:
        """Rows among these, opened again just now, that somebody still holds; what he says is late now."""

    def host_freed(self, host_id: int, now: float) -> None:
        """A lease of the host ended."""

    def gate_changed(self, host_id: int) -> None:
        """The gate of a host opens at another time, or lets fewer through."""

    def run_changed(self, run_id: int) -> None:
        """State or knobs of a run changed, which may count at the gates it stands at."""

    def drop(self, run_id: int) -> None:
        """Forget the queues of a run; what is leased stays at its hosts' gates."""

    def is_counted(self, run_id: int) -> bool:
        """Whether what is in flight of a run was counted after it came into the state it is in."""
