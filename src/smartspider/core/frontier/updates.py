"""Values exchanged between the store and a remote frontier."""

from __future__ import annotations

import msgspec

from smartspider.core.frontier.lease import Lease
from smartspider.core.requests.politeness import OwnPace
from smartspider.core.requests.request import Request
from smartspider.core.runs.run import HTTP_ONLY, RunState


class QueuePosition(msgspec.Struct, frozen=True, gc=False):
    """The position of an open row in the frontier's queue: by rank, then by id, ascending."""

    url_id: int
    host: str
    rank: int
    due_at: float = 0.0
    """Earliest time of a lease, in store time; 0: at once."""
    is_alone: bool = False
    """A suspect: leased only to a worker that holds nothing else."""


class OpenRequest(msgspec.Struct, frozen=True):
    """The part of an open row that a lease needs."""

    request: Request
    attempts: int
    returns: int
    visit: int = 0
    cookie_version: int = 0


class RunControl(msgspec.Struct, frozen=True):
    """The settings of a run in the frontier. Without them the run does not exist: nothing is queued or
    leased.
    """

    run_id: int
    state: RunState
    weight: int
    concurrency: int
    delay_s: float
    """The delay it asks of the gates, where all runs keep it."""
    per_host: int
    per_domain: int | None
    needs: frozenset[str] = HTTP_ONLY
    """Capabilities a worker must have to lease requests of the run."""
    pace: OwnPace = OwnPace()
    """The delays and holds that apply to this run alone."""


class RunLoad(msgspec.Struct, frozen=True):
    """Requests of a run in the frontier, counted after every shard received this state of the run."""

    run_id: int
    state: RunState
    leased: int
    queued: int
    waiting: int


class HostRow(msgspec.Struct, frozen=True):
    """The stored state of a host's gate. Only the frontier knows the time of its last slot."""

    name: str
    domain: str
    """Registrable domain."""
    robots_s: float = 0.0
    adaptive_s: float = 0.0
    operator_s: float = 0.0
    held_until: float = 0.0
    openings: int = 0
    changed_at: float = 0.0
    """Orders versions of the row, by the store's clock. Not comparable with other times."""


class ReturnedLease(msgspec.Struct, frozen=True):
    """A lease taken back from a worker that died or stopped responding."""

    url_id: int
    host: str
    worker_id: int
    is_alone: bool
    counts: bool
    """The return counts against the request. False after a change of epoch."""


class FrontierUpdate(msgspec.Struct):
    """The changes that a commit requires in a remote frontier, in the order they are applied."""

    hosts: list[HostRow] = []
    """Changed gates."""
    offered: list[QueuePosition] = []
    postponed: list[tuple[Lease, QueuePosition]] = []
    """Leases that end, with the positions of their requests in the queue."""
    released: list[Lease] = []
    """Leases that end unused; their requests are queued again at once."""
    ended: list[Lease] = []
    """Leases whose rows are closed."""

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to apply."""
        return not (self.hosts or self.offered or self.postponed or self.released or self.ended)
