"""Limits of failed sign-ins, which nobody can use to lock a user out from elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv6Address, IPv6Network, ip_address

from smartspider.core.errors import NotSignedIn, TooMany
from smartspider.core.limits.rate_limits import RateLimit, TokenBuckets
from smartspider.interfaces.clock import Clock

OF_ADDRESS = RateLimit(1 / 3, 20)
"""Limit of failed sign-ins per address."""
OF_NAME = RateLimit(1 / 6, 10)
"""Limit of failed sign-ins per user name and address."""
FREE_FAILURES = 5
"""Failed sign-ins of a name, from all addresses, before attempts from new addresses are delayed."""
FIRST_DELAY_S = 0.25
MAX_DELAY_S = 5.0
FORGIVEN_EVERY_S = 30.0
"""After this time a name has one failed sign-in less."""
MAX_WAITING = 200
"""Attempts that are delayed at a time."""
MAX_KEPT = 10_000
"""Names and addresses that are kept; beyond, the oldest are forgotten."""


def delay_s(failures: float) -> float:
    """Return how long an attempt from a new address waits after failed sign-ins of the same name."""
    over = int(failures) - FREE_FAILURES
    return 0.0 if over < 0 else min(FIRST_DELAY_S * 2.0 ** min(over, 30), MAX_DELAY_S)


def network_of(address: str) -> str:
    """Return what counts as one address: of IPv6 the network that one customer has (/64)."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    mapped = parsed.ipv4_mapped
    return str(mapped or IPv6Network((int(parsed) >> 64 << 64, 64)))


class SignInLimits:
    """1. Failed attempts are limited by address, and by name and address.
    2. Failed attempts of a name from anywhere delay those from addresses that never signed in with it, by a
       few seconds at most. They refuse nobody.
    3. Memory is bounded.
    """

    def __init__(self, clock: Clock, max_kept: int = MAX_KEPT) -> None:
        self._clock, self._max_kept = clock, max_kept
        self._of_address = TokenBuckets(OF_ADDRESS, max_kept)
        self._of_pair = TokenBuckets(OF_NAME, max_kept)
        self._failures: dict[str, tuple[float, float]] = {}
        """Failed sign-ins by name, with the time they were counted at."""
        self._known: dict[tuple[str, str], None] = {}
        """Names with addresses that signed in."""
        self._waiting: set[tuple[str, str]] = set()

    @asynccontextmanager
    async def attempt(self, address: str, name: str = "") -> AsyncIterator[None]:
        """Count an attempt before it is made, so that concurrent ones count; refund it unless it fails with
        `NotSignedIn`. Raise `TooMany` if it must not be made now.
        """
        network = network_of(address)
        pair = (name, network)
        self._take(network, pair)
        is_failed = False
        try:
            await self._wait(pair)
            yield
        except NotSignedIn:
            is_failed = True
            self._count_failure(name)
            raise
        else:
            self._remember(pair)
        finally:
            if not is_failed:
                self._refund(network, pair)

    def _take(self, network: str, pair: tuple[str, str]) -> None:
        now = self._clock.monotonic()
        wait_s = self._of_address.take(network, now) if network else 0.0
        if not wait_s and pair[0]:
            wait_s = self._of_pair.take(pair, now)
            if wait_s and network:
                self._of_address.refund(network)
        if wait_s:
            raise _too_many(wait_s)

    def _refund(self, network: str, pair: tuple[str, str]) -> None:
        if network:
            self._of_address.refund(network)
        if pair[0]:
            self._of_pair.refund(pair)

    async def _wait(self, pair: tuple[str, str]) -> None:
        """Delay an attempt from a new address while its name is attacked."""
        wait_s = delay_s(self._failures_of(pair[0])) if pair[0] and pair not in self._known else 0.0
        if not wait_s:
            return
        if pair in self._waiting or len(self._waiting) >= MAX_WAITING:
            raise _too_many(wait_s)
        self._waiting.add(pair)
        try:
            await self._clock.sleep(wait_s)
        finally:
            self._waiting.discard(pair)

    def _failures_of(self, name: str) -> float:
        count, at = self._failures.get(name, (0.0, 0.0))
        return max(0.0, count - (self._clock.monotonic() - at) / FORGIVEN_EVERY_S)

    def _count_failure(self, name: str) -> None:
        if name:
            count = self._failures_of(name) + 1.0
            self._failures.pop(name, None)
            self._failures[name] = (count, self._clock.monotonic())
            if len(self._failures) > self._max_kept:
                del self._failures[next(iter(self._failures))]

    def _remember(self, pair: tuple[str, str]) -> None:
        if all(pair):
            self._known.pop(pair, None)
            self._known[pair] = None
            if len(self._known) > self._max_kept:
                del self._known[next(iter(self._known))]


def _too_many(wait_s: float) -> TooMany:
    return TooMany("too many failed sign-ins", retry_after_s=wait_s, hint="wait and try again")
