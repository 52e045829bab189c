"""Values that a store and a frontier apart from it tell each other."""

from __future__ import annotations

import msgspec

from smartspider.core.frontier.lease import Lease
from smartspider.core.requests.request import Request
from smartspider.core.runs.run import RunState


class QueuePosition(msgspec.Struct, frozen=True, gc=False):
    """Where an open row goes in the frontier. Smaller ranks come first, smaller ids among equals."""

    url_id: int
    host: str
    rank: int
    due_at: float = 0.0
    """Not before this moment, in store time; 0: at once."""
    is_alone: bool = False
    """A suspect: only for a worker that holds nothing else."""


class OpenRequest(msgspec.Struct, frozen=True):
    """An open row as a lease needs it."""

    request: Request
    attempts: int
    returns: int
    visit: int = 0


class RunControl(msgspec.Struct, frozen=True):
    """What the frontier knows of a run. A run without one is gone: nothing of it is queued or handed out."""

    run_id: int
    state: RunState
    weight: int
    concurrency: int
    delay_s: float
    per_host: int
    per_domain: int | None


class RunLoad(msgspec.Struct, frozen=True):
    """What the frontier holds of a run, counted after all of it had heard that the run is in this state."""

    run_id: int
    state: RunState
    leased: int
    queued: int
    waiting: int


class HostRow(msgspec.Struct, frozen=True):
    """What the store keeps of a host's gate; when its last slot was is only known to the frontier."""

    name: str
    domain: str
    """Registrable domain."""
    robots_s: float = 0.0
    adaptive_s: float = 0.0
    operator_s: float = 0.0
    held_until: float = 0.0
    openings: int = 0
    changed_at: float = 0.0
    """Tells older rows of a host from newer ones; by the store's own clock, and good for nothing else."""


class ReturnedLease(msgspec.Struct, frozen=True):
    """A lease that was taken back from a worker that died or fell silent."""

    url_id: int
    host: str
    worker_id: int
    is_alone: bool
    counts: bool
    """Whether it says anything about the request; not so after an epoch change."""


class FrontierUpdate(msgspec.Struct):
    """What a commit means for a frontier apart from the store, in the order it is carried out."""

    hosts: list[HostRow] = []
    """Gates that changed."""
    offered: list[QueuePosition] = []
    postponed: list[tuple[Lease, QueuePosition]] = []
    """Leases that end, and when their requests come back."""
    released: list[Lease] = []
    """Leases that end unused; their requests are queued again at once."""
    ended: list[Lease] = []
    """Leases whose rows are closed."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.hosts or self.offered or self.postponed or self.released or self.ended)
