"""The changes that a transaction of the store makes to the frontier.

Where both are in one database they are applied in the same transaction. Where the frontier is outside the
store, they are collected and sent after the commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from smartspider.core.frontier.lease import Lease

SUSPECT_AFTER = 3
"""Returns after which a request is leased alone."""
BURY_AFTER = 3
"""Workers lost while they held only this request, after which it is closed as dead."""
CRASHED = "crash: every worker that leased it alone was lost"
"""The reason of such a row."""


class QueueEntry(msgspec.Struct, frozen=True, gc=False):
    """The place of an open row in the lane of its host. Smaller ranks come first."""

    url_id: int
    host_id: int
    rank: int
    host: str = ""
    """Its name, where known."""


class FrontierUpdates(Protocol):
    """1. Offered rows are queued unless they are live. 2. Closed rows leave the frontier. 3. A worker that
    lost a lease learns it, and its verdict does not count.
    """

    def offer(self, run_id: int, entries: Sequence[QueueEntry]) -> None:
        """Queue open rows."""

    def set_apart(self, run_id: int, entries: Sequence[QueueEntry], now: float) -> None:
        """Queue open rows that are leased alone."""

    def holds(self, lease: Lease) -> bool:
        """Return whether a lease is the current one of its row."""

    def ending(self, run_id: int) -> int:
        """Return how many leases of a run end with the transaction; until then they count as in flight."""

    def end(self, lease: Lease) -> None:
        """End a lease whose row is closed, whichever worker holds it now."""

    def postpone(self, lease: Lease, due_at: float, *, is_alone: bool = False) -> None:
        """End a lease that is held, and queue its row again at `due_at`, to be leased alone if `is_alone`."""

    def release(self, lease: Lease, now: float) -> None:
        """End a lease if it is still the current one, and queue its row again if it is open."""

    def forget(self, run_id: int, url_id: int) -> None:
        """Remove a closed row from the queue."""

    def forget_host(self, run_id: int, host_id: int, url_ids: Sequence[int]) -> None:
        """Remove all closed rows of a run and host from the queue."""

    def fence(self, run_id: int, url_ids: set[int]) -> set[int]:
        """Return those of the reopened rows that are still leased. Verdicts on these leases are late from now
        on.
        """

    def host_freed(self, host_id: int, now: float) -> None:
        """Record that a lease of the host ended."""

    def gate_changed(self, host_id: int) -> None:
        """Record that the gate of a host opens at another time or lets fewer requests through."""

    def run_changed(self, run_id: int) -> None:
        """Record that the state or a setting of a run changed, which may affect the gates of its hosts."""

    def drop(self, run_id: int) -> None:
        """Drop the queues of a run. Its leases count at the gates of their hosts until they end."""

    def is_counted(self, run_id: int) -> bool:
        """Return whether the requests in flight were counted after the run entered its present state."""
