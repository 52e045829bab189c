"""The registry of workers: their heartbeats, their slots, and draining them."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.core.frontier.lease import Lease
from smartspider.core.workers.worker import WorkerHealth, WorkerRecord


class HeartbeatReport(msgspec.Struct, frozen=True):
    """The state of a worker, sent with every heartbeat."""

    slots: int | None
    """Number of slots; None for the number it was assigned."""
    cpu_s: float
    memory: int
    held: list[Lease] = []
    """Its leases, shown by views where the frontier is outside the store."""
    health: WorkerHealth = WorkerHealth()


class HeartbeatReply(msgspec.Struct, frozen=True):
    """The reply to a heartbeat."""

    slots: int = 0
    """Maximum number of requests in flight."""
    is_draining: bool = False
    """The worker should finish its leases and leave."""
    is_unknown: bool = False
    """The worker was considered dead and removed: it leaves, or joins again."""
    peers: dict[int, WorkerHealth] = {}
    """All workers that are alive and not draining, this one included, by id. Empty where all workers are
    processes of one machine and it does not matter which one takes a request.
    """


class WorkerRegistry(Protocol):
    """1. A worker is listed from joining the frontier until it leaves or its leases are reclaimed.
    2. The reply to a heartbeat has the slots of the worker, and whether it should drain.
    3. A worker learns the health of all workers.
    4. Draining and setting slots apply to one worker or to all of a node, with an audit entry in the same
       transaction.
    """

    async def beat(self, worker_id: int, beat: HeartbeatReport) -> HeartbeatReply:
        """Store a heartbeat and return the reply."""

    async def find(self) -> list[WorkerRecord]:
        """Return all workers in the order they joined."""

    async def drain(self, node: str, *, worker_id: int | None = None, actor: str) -> int:
        """Ask the workers of a node, or one of them, to leave. Return how many were asked."""

    async def tune(self, node: str, slots: int, *, worker_id: int | None = None, actor: str) -> int:
        """Set the slots of the workers of a node, or of one of them. Return how many were set."""
