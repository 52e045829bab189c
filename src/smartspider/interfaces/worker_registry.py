"""Workers: who is there, how they do, and asking them to leave."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.core.workers import WorkerRecord


class Beat(msgspec.Struct, frozen=True):
    """What a worker says of itself now and then."""

    slots: int
    cpu_s: float
    memory: int


class WorkerRegistry(Protocol):
    """1. A worker is listed from joining the frontier until it leaves or its leases are reclaimed.
    2. A beat is answered with whether the worker is asked to drain.
    3. Draining is asked of a worker or of all of a node, with an audit entry in the same transaction.
    """

    async def beat(self, worker_id: int, beat: Beat) -> bool:
        """Keep it; whether the worker should finish what it holds and leave."""

    async def find(self) -> list[WorkerRecord]:
        """All workers, in the order they joined."""

    async def drain(self, node: str, *, worker_id: int | None = None, actor: str) -> int:
        """Ask workers of a node to leave, or one of them; how many were asked."""
