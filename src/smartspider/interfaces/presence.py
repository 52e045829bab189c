"""Workers as a frontier apart from the store knows them: their ids come from the store."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.workers.worker import WorkerRegistration


class Presence(Protocol):
    """1. An id is never given twice. 2. Who has left is not among the lost."""

    async def join(self, card: WorkerRegistration) -> int:
        """Register a worker; its id."""

    async def leave(self, worker_id: int) -> None:
        """The worker is gone in good order."""
