"""What is still to be fetched: a fast index of the open rows, behind the host gates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.capabilities import HTTP_ONLY
from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.lease import GateClosed, Lease, LeaseBatch, SendWindow
from smartspider.core.workers.worker import WorkerRegistration


class Frontier(Protocol):
    """The queue of every run.

    1. Offering queues a request unless it is live (queued, waiting or leased) or its row is closed: anything
       may be offered again, at any time, by anyone.
    2. Leases come by priority within a run and host, first found first among equals.
    3. Tokens only grow.
    4. A host has at most as many requests in flight as its strictest run allows, and its slots are at least
       the strictest delay apart, for all runs and workers together.
    5. A run that does not lease (paused, stopped, gone) hands out nothing.
    6. Renewing moves the deadline of the leases still held and names those that were lost.
    7. Released leases are queued again at once and nothing is counted.
    8. Reclaiming returns the leases that are past their deadline and those of dead workers, and counts it.
    9. A held host hands out nothing before its time, a resumed one goes on at once. The delay of an operator
       counts like that of a run, and for all of them, until it is set to 0.
       What an `actor` does to a host is in the audit, in the same transaction.
    10. A request that came back too often is handed out alone.
    11. Runs asked for together share what is handed out by their weights: none starves, and what one cannot
        use the others get.
    12. A worker gets only requests of runs whose needs are all among its capabilities.
    """

    async def join(self, worker: WorkerRegistration) -> int:
        """Register a worker; its id. It counts as alive as long as its process lives."""

    async def leave(self, worker_id: int) -> None:
        """The worker is gone in good order; what it still held is released."""

    async def offer(self, run_id: int, url_ids: Sequence[int]) -> int:
        """Queue rows of a run; how many were not live before."""

    async def lease(
        self,
        worker_id: int,
        want: int,
        runs: Sequence[int],
        own: bytes = b"",
        capabilities: frozenset[str] = HTTP_ONLY,
    ) -> LeaseBatch:
        """Up to `want` requests of `runs` that may leave now.

        `own` names the hosts that this worker had better take before others (see `core/workers/host_assignment.py`). It is
        a hint: nothing is left lying for want of the right worker.
        """

    async def renew(self, leases: Sequence[Lease]) -> list[Lease]:
        """Keep leases for another term; returns those that are lost."""

    async def release(self, leases: Sequence[Lease]) -> None:
        """Give leases back unused."""

    async def reclaim(self) -> list[LeasesReturned]:
        """Take back what dead or silent workers hold; how many of each run from whom."""

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """Reserve one more slot of a host, for a hop, robots.txt or a window that was missed.

        A slot can only be had shortly before it begins: until then the host may be held or slowed down.
        """

    async def hold_host(self, host: str, seconds: float, reason: str, *, actor: str | None = None) -> None:
        """Send nothing to a host for so long."""

    async def resume_host(self, host: str, *, actor: str | None = None) -> None:
        """Lift a hold, and forget what made the host slow."""

    async def slow_host(self, host: str, delay_s: float, *, actor: str | None = None) -> None:
        """Have the slots of a host at least so far apart; 0 takes that back."""


class Replay(Protocol):
    """1. `is_whole` says whether the frontier holds as many requests of a run as are open, at little cost.
    2. Open rows are listed by a cursor that never skips or repeats one.
    """

    async def is_whole(self, run_id: int) -> bool:
        """Whether as many requests are queued, waiting or leased as are open."""

    async def open_rows(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[int]:
        """Ids of open rows of a run, greater than `after`."""
