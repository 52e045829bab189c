"""The queue of requests to fetch, behind the gates of the hosts: a fast index of the open rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.lease import GateClosed, Lease, LeaseBatch, SendWindow
from smartspider.core.runs.run import HTTP_ONLY
from smartspider.core.workers.scaling import LaneDemand
from smartspider.core.workers.worker import WorkerRegistration


class Frontier(Protocol):
    """The queue of every run.

    1. Offering queues a request unless it is live (queued, waiting or leased) or its row is closed. Any
       request may be offered again at any time.
    2. Leases are granted by priority within a run and host, in the order of discovery among equals.
    3. Tokens only grow.
    4. Over all runs and workers, a host has at most as many requests in flight as its strictest run
       allows, and its slots are at least the strictest delay apart. A delay of more than a minute
       (`shared_delay_s`) applies to its run alone: slots of the run are that far apart, and other runs do
       not wait for them.
    5. A run in a state that does not lease (paused, stopped, deleted) grants no leases.
    6. Renewing extends the deadline of the leases still held and returns those that were lost.
    7. Released leases are queued again at once and do not count as attempts.
    8. Reclaiming returns leases that are past their deadline and those of dead workers to the queue, and
       counts each return.
    9. A held host grants no leases until the hold ends; a resumed host continues at once. The delay set by
       an operator applies to all runs like the delay of a run, until it is set to 0. With an `owner`, holds
       and delays apply to the runs of this owner's tasks alone, also to later ones. An operation with an
       `actor` is written to the audit log in the same transaction.
    10. A request that was returned too often is leased alone.
    11. Runs that are leased together share the leases by weight: none starves, and the others get what one
       cannot use.
    12. A window that is leased ahead is one of the slots of its host and counts as in flight. While several
       runs queue for the host, one window is granted at a time.
    13. A worker gets only requests of runs whose needs are all among its capabilities.
    14. All leases of a worker but one can be released in its place.
    """

    async def join(self, worker: WorkerRegistration) -> int:
        """Register a worker and return its id. It counts as alive as long as its process lives."""

    async def leave(self, worker_id: int) -> None:
        """Deregister a worker and release its leases."""

    async def offer(self, run_id: int, url_ids: Sequence[int]) -> int:
        """Queue rows of a run. Return how many were not live before."""

    async def lease(
        self,
        worker_id: int,
        want: int,
        runs: Sequence[int],
        own: bytes = b"",
        capabilities: frozenset[str] = HTTP_ONLY,
        *,
        ahead_s: float = 0.0,
    ) -> LeaseBatch:
        """Lease up to `want` requests of `runs` that may be sent now. Hosts with a delay also grant the
        windows that begin within `ahead_s`, one after the other, if slots are left.

        `own` is a bit mask of the hosts that this worker takes first (see
        `core/workers/host_assignment.py`). It is a hint: requests of other hosts are leased as well.
        """

    async def renew(self, leases: Sequence[Lease]) -> list[Lease]:
        """Extend leases. Return those that are lost."""

    async def release(self, leases: Sequence[Lease]) -> None:
        """Return leases unused."""

    async def release_others(self, worker_id: int, url_id: int) -> None:
        """Return all leases of a worker unused, but not that of one row."""

    async def reclaim(self) -> list[LeasesReturned]:
        """Take leases back from dead and silent workers. Return the number for each run and worker."""

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """Reserve one more slot of a host, for a redirect, robots.txt or a missed window.

        A slot is granted only shortly before it begins: until then the host may be held or slowed down.
        """

    async def hold_host(
        self,
        host: str,
        seconds: float,
        reason: str,
        *,
        actor: str | None = None,
        owner: str | None = None,
    ) -> None:
        """Send nothing to a host for some seconds."""

    async def resume_host(self, host: str, *, actor: str | None = None, owner: str | None = None) -> None:
        """End a hold and reset the adaptive delay of a host; with an owner, end the owner's hold only."""

    async def slow_host(
        self, host: str, delay_s: float, *, actor: str | None = None, owner: str | None = None
    ) -> None:
        """Set the operator's delay between two slots of a host; 0 removes it."""


class FrontierReplay(Protocol):
    """1. `is_whole` compares the number of open rows of a run with the number of requests in the frontier, at
       low cost.
    2. Open rows are listed by a cursor that neither skips nor repeats one.
    """

    async def is_whole(self, run_id: int) -> bool:
        """Return whether as many requests are queued, waiting or leased as rows are open."""

    async def open_rows(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[int]:
        """Return ids of open rows of a run that are greater than `after`."""


class Demand(Protocol):
    """1. For each run it returns the number of hosts with queued work, and the state of some of these hosts.
    2. The cost for a run is bounded by `limit` hosts.
    3. A host that several runs have work for is returned with the limits of the strictest run.
    """

    async def lanes(self, runs: Sequence[int], limit: int) -> dict[int, tuple[int, list[LaneDemand]]]:
        """Return the number of hosts of each run, and up to `limit` of them."""
