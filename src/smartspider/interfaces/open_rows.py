"""What a frontier apart from the store asks the store: open rows, runs and hosts."""

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
    """1. Only open rows of runs that are not over are told, each as it is committed.
    2. Rows are listed by a cursor that never skips or repeats one that was open all the while.
    3. The head of a lane is its best rows, in the order they are handed out.
    4. A returned lease is counted on its row; one that keeps losing workers is set apart, then buried.
    5. What was counted of a run is kept only while the run is in the state it was counted in.
    """

    async def requests(self, url_ids: Sequence[int]) -> dict[int, OpenRequest]:
        """Those of the rows that are open, ready to be handed out."""

    async def places(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Where those of the rows that are open belong."""

    async def open_children(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Places of the open rows that those of the rows led to that are closed, also by a redirect.

        Who finds a row closed offers them: whoever closed it may have died before he did (rule 2).
        """

    async def places_after(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[QueuePosition]:
        """Places of open rows of a run, those with a greater id than `after`, by id."""

    async def heads(self, run_id: int, hosts: Sequence[str], limit: int) -> list[QueuePosition]:
        """The best open rows of a run for each of some hosts, and as many of those that come back later."""

    async def lanes(self, run_id: int, *, after: str = "", limit: int = 1000) -> list[str]:
        """Hosts that a run has open rows for, those that follow one of them; always in the same order."""

    async def controls(self) -> list[RunControl]:
        """All runs that are not over, oldest first."""

    async def hosts(self, *, after: str = "", limit: int = 1000) -> list[HostRow]:
        """Gates of hosts with anything to say, names greater than `after`, by name."""

    async def hosts_changed(self, *, after: float = 0.0, limit: int = 1000) -> list[HostRow]:
        """Gates that changed within the last minute, later than `after` by `HostRow.changed_at`, in order."""

    async def count_returns(
        self, returned: Sequence[ReturnedLease]
    ) -> tuple[list[QueuePosition], list[LeasesReturned]]:
        """Count leases that were taken back; what of them is to be queued again, and what is told of it."""

    async def lost_workers(self) -> list[int]:
        """Workers that fell silent or are gone; what they hold is taken back at once."""

    async def armed_process(self, shard: int) -> str:
        """The process that a leader armed last for a shard of the frontier; empty: none is known."""

    async def arming(self, shard: int, process: str, *, epoch: int) -> None:
        """Note that a leader is about to arm a process: from now on it is the last. Raises `TermOver` where
        another leads.
        """

    async def keep_loads(self, loads: Sequence[RunLoad], *, epoch: int) -> None:
        """Keep what the frontier holds of runs, for those who look and for runs that are about to end.

        Raises `TermOver` where another leads.
        """


class HostHolds(Protocol):
    """1. A hold is committed before anybody hears of it, and never shortened but by resuming.
    2. What an `actor` does is in the audit, in the same transaction.
    """

    async def hold_host(self, host: str, seconds: float, reason: str, *, actor: str | None = None) -> HostRow:
        """Send nothing to a host for so long; the host as it stands now."""

    async def resume_host(self, host: str, *, actor: str | None = None) -> HostRow:
        """Lift a hold, and forget what made the host slow; the host as it stands now."""

    async def slow_host(self, host: str, delay_s: float, *, actor: str | None = None) -> HostRow:
        """Keep at least this delay at a host, whatever runs and robots.txt ask; the host as it stands now."""


class WorkerMembership(Protocol):
    """1. An id is never given twice. 2. Who has left is not among the lost."""

    async def join(self, card: WorkerRegistration) -> int:
        """Register a worker; its id."""

    async def leave(self, worker_id: int) -> None:
        """The worker is gone in good order."""
