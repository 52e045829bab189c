"""The store as a frontier outside of it needs it: open rows, runs, hosts and workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.updates import (
    HostRow,
    OpenRequest,
    QueuePosition,
    ReturnedLease,
    RunControl,
    RunLoad,
)
from smartspider.core.workers.worker import WorkerRegistration


class OpenRows(Protocol):
    """1. Only committed open rows of unfinished runs are returned.
    2. Rows are listed by a cursor that neither skips nor repeats one that was open all the time.
    3. The head of a lane is its best rows, in the order they are leased.
    4. A returned lease is counted on its row; a row that keeps losing workers is leased alone, then closed
       as dead.
    5. The load of a run is kept only while the run stays in the state in which it was counted.
    """

    async def requests(self, url_ids: Sequence[int]) -> dict[int, OpenRequest]:
        """Return the requests of those rows that are open."""

    async def places(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Return the queue positions of those rows that are open."""

    async def open_children(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Return positions of the open rows found on those of `url_ids` that are closed, also by a redirect.

        A process that finds a row closed offers them, since the one that closed it may have died first
        (rule 2).
        """

    async def places_after(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[QueuePosition]:
        """Return positions of open rows of a run with ids greater than `after`, by id."""

    async def heads(self, run_id: int, hosts: Sequence[str], limit: int) -> list[QueuePosition]:
        """Return the best open rows of a run for each host, and as many of those that are due later."""

    async def lanes(self, run_id: int, *, after: str = "", limit: int = 1000) -> list[str]:
        """Return the hosts for which a run has open rows, from a cursor on and always in the same order."""

    async def controls(self) -> list[RunControl]:
        """Return the controls of all unfinished runs, oldest first."""

    async def hosts(self, *, after: str = "", limit: int = 1000) -> list[HostRow]:
        """Return gates that differ from the default, with names greater than `after`, by name."""

    async def hosts_changed(self, *, after: float = 0.0, limit: int = 1000) -> list[HostRow]:
        """Return gates changed within the last minute and later than `after` by `HostRow.changed_at`, in
        order.
        """

    async def count_returns(
        self, returned: Sequence[ReturnedLease]
    ) -> tuple[list[QueuePosition], list[LeasesReturned]]:
        """Count leases that were taken back. Return the rows to queue again and the events."""

    async def lost_workers(self) -> list[int]:
        """Return the workers that are silent or have left; their leases are taken back at once."""

    async def armed_process(self, shard: int) -> str:
        """Return the process last armed for a shard of the frontier; empty if none is known."""

    async def record_arming(self, shard: int, process: str, *, epoch: int) -> None:
        """Record the process that the leader is about to arm as the last one. Raise `LeadershipLost` if
        another process leads.
        """

    async def store_loads(self, loads: Sequence[RunLoad], *, epoch: int) -> None:
        """Store what the frontier holds of runs, for views and for runs that are about to end.

        Raise `LeadershipLost` if another process leads.
        """


class HostHolds(Protocol):
    """1. A hold is committed before it takes effect, and only resuming shortens it.
    2. An operation with an `actor` is written to the audit log in the same transaction.
    3. With an `owner`, it applies to the runs of this owner's tasks, and is part of their controls.
    """

    async def hold_host(
        self,
        host: str,
        seconds: float,
        reason: str,
        *,
        actor: str | None = None,
        owner: str | None = None,
    ) -> HostRow:
        """Send nothing to a host for some seconds. Return its new state."""

    async def resume_host(self, host: str, *, actor: str | None = None, owner: str | None = None) -> HostRow:
        """End a hold and reset the adaptive delay of a host. Return its new state."""

    async def slow_host(
        self, host: str, delay_s: float, *, actor: str | None = None, owner: str | None = None
    ) -> HostRow:
        """Set the operator's delay of a host, which runs and robots.txt cannot
        shorten. Return its new state.
        """


class WorkerMembership(Protocol):
    """1. An id is never given twice. 2. A worker that has left is not among the lost."""

    async def join(self, registration: WorkerRegistration) -> int:
        """Register a worker and return its id."""

    async def leave(self, worker_id: int) -> None:
        """Deregister a worker."""
