"""Requests that only wait for bytes: they take no slot of the worker, and are limited for each owner."""

from __future__ import annotations

from collections import Counter

import msgspec

from smartspider.core.frontier.lease import FencingToken

WAITING_PER_SLOT = 4
"""Requests of all owners that may wait without a slot, for each slot of the worker."""
WAITING_BYTES = 1_000_000_000
"""Bytes of unfinished bodies that these requests hold together: half of the memory of a worker by default."""


class FetchProgress:
    """The state of a request while it is fetched, set by its transport and by those who lend it cookies."""

    __slots__ = ("cookies_id", "only_waits", "proxy_id", "received")

    def __init__(self) -> None:
        self.cookies_id: int | None = None
        """The cookies of the vault that it is sent with."""
        self.only_waits = False
        """The transport does nothing but wait for the network."""
        self.received = 0
        """Bytes of the body that the transport holds so far."""
        self.proxy_id: int | None = None
        """The proxy of a pool that the last request went through."""


class StartedRequest(msgspec.Struct, frozen=True):
    """A request in flight, and from when it may wait without a slot."""

    free_at: float
    owner: str
    progress: FetchProgress


class WaitingRequests:
    """1. A request that only waits for bytes takes no slot, from `free_after_s` after its window began.
    2. An owner may have half of what the others leave free of such requests and of their bytes, and at least
       one request.
    3. Beyond the total, requests that wait take slots again: a worker holds a bounded number of requests.
    """

    def __init__(self, free_after_s: float) -> None:
        self._free_after_s = free_after_s
        self._started: dict[FencingToken, StartedRequest] = {}

    def start(self, token: FencingToken, at: float, owner: str, progress: FetchProgress) -> None:
        """Add a request that may be sent from a moment on."""
        self._started[token] = StartedRequest(at + self._free_after_s, owner, progress)

    def end(self, token: FencingToken) -> None:
        """Remove a request that has ended."""
        self._started.pop(token, None)

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

    def _waiting(self, now: float) -> list[StartedRequest]:
        waiting = []
        for request in self._started.values():
            if request.free_at > now:
                break  # those behind were started later
            if request.progress.only_waits:
                waiting.append(request)
        return waiting


def _share(total: int, used: Counter[str], owner: str) -> int:
    """Return the most that an owner may use: half of what the others leave free, and at least one."""
    return max(1, (total - used.total() + used[owner]) // 2)
