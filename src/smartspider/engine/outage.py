"""Retry calls while the store or the frontier is unavailable; publish the start and the end of an outage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from smartspider.core.errors import StoreUnavailable
from smartspider.core.events import StoreLost, StoreReturned
from smartspider.core.frontier.lease import GateClosed, SendWindow
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.robots_cache import RobotsAnswer, RobotsCache

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 0.5
"""Short, because a replaced frontier is ready again after some three seconds."""

T = TypeVar("T")


class Backoff:
    """Pauses that double up to a maximum."""

    def __init__(self, longest_s: float = LONGEST_PAUSE_S) -> None:
        self._longest_s = longest_s
        self._next_s = FIRST_PAUSE_S

    def next_s(self) -> float:
        """Return the next pause."""
        pause_s, self._next_s = self._next_s, min(self._next_s * 2.0, self._longest_s)
        return pause_s

    def reset(self) -> None:
        """Start again with the shortest pause."""
        self._next_s = FIRST_PAUSE_S


class OutageRetry:
    """Retries calls during an outage.

    If `is_enabled` is False, the first failure is raised.
    """

    def __init__(
        self, clock: Clock, bus: EventBus, *, is_enabled: bool, longest_pause_s: float = LONGEST_PAUSE_S
    ) -> None:
        self.is_enabled = is_enabled
        self._longest_pause_s = longest_pause_s
        self._clock = clock
        self._bus = bus
        self._failing: set[str] = set()
        self._since = 0.0

    def new_backoff(self) -> Backoff:
        """Return the pauses between attempts."""
        return Backoff(self._longest_pause_s)

    def report_failure(self, what: str, error: StoreUnavailable) -> None:
        """Record that `what` failed; raise the error if retries are disabled."""
        if not self.is_enabled:
            raise error
        if not self._failing:
            self._since = self._clock.monotonic()
            self._bus.publish(StoreLost(0, error.message))
        self._failing.add(what)

    def report_success(self, what: str) -> None:
        """Record that `what` succeeded; the outage ends when nothing fails any more."""
        if what in self._failing:
            self._failing.discard(what)
            if not self._failing:
                self._bus.publish(StoreReturned(0, self._clock.monotonic() - self._since))

    async def call(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Call until it succeeds."""
        backoff = self.new_backoff()
        while True:
            try:
                answer = await ask()
            except StoreUnavailable as error:
                self.report_failure(what, error)
                await self._clock.sleep(backoff.next_s())
            else:
                self.report_success(what)
                return answer


class OutageRetryGate:
    """The gates of a frontier; waits out an outage."""

    def __init__(self, frontier: Frontier, outage: OutageRetry) -> None:
        self._frontier = frontier
        self._outage = outage

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """Reserve the next slot of a host."""
        return await self._outage.call("permit", lambda: self._frontier.permit(host))


class OutageRetryRobotsCache:
    """A robots cache that waits out an outage of the store."""

    def __init__(self, cache: RobotsCache, outage: OutageRetry) -> None:
        self._cache = cache
        self._outage = outage

    async def get_robots(self, origin: str) -> RobotsAnswer | None:
        """Return the cached answer of an origin, if any."""
        return await self._outage.call("robots", lambda: self._cache.get_robots(origin))

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:
        """Cache an answer."""
        await self._outage.call(
            "robots", lambda: self._cache.put_robots(answer, host=host, crawl_delay_s=crawl_delay_s)
        )
