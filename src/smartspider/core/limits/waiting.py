"""Requests that only wait for bytes: they take no slot of the worker, and are limited for each owner."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence

import msgspec

WAITING_PER_SLOT = 4
"""Requests of all owners that may wait without a slot, for each slot of the worker."""
WAITING_BYTES = 1_000_000_000
"""Bytes of unfinished bodies that these requests hold together: half of the memory of a worker by default."""


class FetchProgress:
    """The state of a request while it is fetched, set by its transport."""

    __slots__ = ("only_waits", "received")

    def __init__(self) -> None:
        self.only_waits = False
        """The transport does nothing but wait for the network."""
        self.received = 0
        """Bytes of the body that the transport holds so far."""


class StartedRequest(msgspec.Struct, frozen=True):
    """A request in flight, and from when it may wait without a slot."""

    free_at: float
    owner: str
    progress: FetchProgress
    task: asyncio.Future[None]


class WaitingRequests:
    """1. A request that only waits for bytes takes no slot, from `free_after_s` after its window began.
    2. An owner may have half of what the others leave free of such requests and of their bytes, and at least
       one request.
    3. Beyond the total, requests that wait take slots again: a worker holds a bounded number of requests.
    """

    def __init__(self, free_after_s: float) -> None:
        self._free_after_s = free_after_s
        self._young: deque[StartedRequest] = deque()
        self._old: list[StartedRequest] = []

    def start(self, at: float, owner: str, progress: FetchProgress, task: asyncio.Future[None]) -> None:
        """Add a request that may be sent from a moment on."""
        free_at = at + self._free_after_s
        self._young.append(StartedRequest(free_at, owner, progress, task))

    def count(self, slots: int, now: float) -> int:
        """Return how many requests wait without a slot of a worker that has `slots`."""
        return min(len(self._waiting(now)), slots * WAITING_PER_SLOT)

    def owners_at_limit(self, slots: int, now: float) -> frozenset[str]:
        """Return the owners whose runs lease nothing until some of their requests have ended."""
        waiting = self._waiting(now)
        if not waiting:
            return frozenset()
        received: Counter[str] = Counter()
        for request in waiting:
            received[request.owner] += request.progress.received
        requests = Counter(request.owner for request in waiting)
        return frozenset(
            owner
            for owner, number in requests.items()
            if number >= _share(slots * WAITING_PER_SLOT, requests, owner)
            or received[owner] >= _share(WAITING_BYTES, received, owner)
        )

    def _waiting(self, now: float) -> Sequence[StartedRequest]:
        while self._young and self._young[0].free_at <= now:
            self._old.append(self._young.popleft())
        if not self._old:
            return ()
        self._old = [request for request in self._old if not request.task.done()]
        return [request for request in self._old if request.progress.only_waits]


def _share(total: int, used: Counter[str], owner: str) -> int:
    """Return the most that an owner may use: half of what the others leave free, and at least one."""
    return max(1, (total - used.total() + used[owner]) // 2)
