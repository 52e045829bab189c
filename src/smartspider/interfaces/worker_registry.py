"""Workers: who is there, how they do, and asking them to leave."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.core.frontier.lease import Lease
from smartspider.core.workers.worker import WorkerHealth, WorkerRecord


class HeartbeatReport(msgspec.Struct, frozen=True):
    """What a worker says of itself now and then."""

    slots: int | None
    """How many it has; None: as many as it was told."""
    cpu_s: float
    memory: int
    held: list[Lease] = []
    """What is in its hands, for those who look at a frontier apart from the store."""
    health: WorkerHealth = WorkerHealth()


class HeartbeatReply(msgspec.Struct, frozen=True):
    """What a beat is answered with."""

    slots: int = 0
    """How many requests it should have in flight at most."""
    is_draining: bool = False
    """It should finish what it holds and leave."""
    is_unknown: bool = False
    """It was taken for dead and is not listed any more: it leaves, or joins once more."""
    peers: dict[int, WorkerHealth] = {}
    """All workers that are alive and stay, this one among them, by id; none where it does not matter who
    takes what, because all are processes of one machine.
    """


class WorkerRegistry(Protocol):
    """1. A worker is listed from joining the frontier until it leaves or its leases are reclaimed.
    2. A beat is answered with the slots the worker should have, and whether it is asked to drain.
    3. A worker is told how it and all others do.
    4. Draining, or another number of slots, is asked of a worker or of all of a node, with an audit entry in
       the same transaction.
    """

    async def beat(self, worker_id: int, beat: HeartbeatReport) -> HeartbeatReply:
        """Keep it; what the worker should do."""

    async def find(self) -> list[WorkerRecord]:
        """All workers, in the order they joined."""

    async def drain(self, node: str, *, worker_id: int | None = None, actor: str) -> int:
        """Ask workers of a node to leave, or one of them; how many were asked."""

    async def tune(self, node: str, slots: int, *, worker_id: int | None = None, actor: str) -> int:
        """Have workers of a node, or one of them, hold so many requests at most; how many have it now."""
