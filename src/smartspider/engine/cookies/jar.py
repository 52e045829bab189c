"""The cookies of a set in a worker, and what a request with a lent slot sends and may do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from smartspider.core.cookies.jar import Cookie, CookieJar
from smartspider.core.cookies.sets import CookieLease, CookieSet, is_in_domain
from smartspider.core.errors import CookieRetry, StoreUnavailable
from smartspider.core.requests.urls import host_of
from smartspider.engine.session import FRESH_S
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Cookies, Permit
from smartspider.store.cookie_sets import CookieSetStore, Wanted
from smartspider.store.cookies import KEPT_VERSIONS

MIN_SECRET = 6
"""Shorter values are ordinary words, such as `en`, and are not masked in logs."""


class OpenedCookies(Protocol):
    """Cookies of a set with their values."""

    @property
    def uploads(self) -> int:
        """The number of uploads."""

    @property
    def version(self) -> int:
        """Number of the last change."""

    @property
    def cookies(self) -> Sequence[Cookie]:
        """The cookies that changed."""


class CookieVault(Protocol):
    """The part of the vault that lends cookies."""

    cookies: CookieSetStore

    def borrower(self) -> AbstractContextManager[str]:
        """Return the name of a borrower, whose slots are freed once its process has ended."""

    async def borrow(
        self, wanted: Wanted, *, holder: str, borrower: str, term_s: float
    ) -> CookieLease | None:
        """Lend a free slot; None if there is none."""

    async def open_jar(self, set_id: int, *, after: int, uploads: int) -> OpenedCookies:
        """Return the cookies of a set that changed after a version."""

    async def write_jar(self, token: str, uploads: int, cookies: Iterable[Cookie]) -> int | None:
        """Store cookies that changed; None if the token is over or other cookies were uploaded."""


_BOOT_TIME: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_time() -> float:
    """Return seconds that also count while the machine sleeps, where the system has such a clock."""
    return time.clock_gettime(_BOOT_TIME)


class SetJar(CookieJar):
    """The cookies of a set: those that this worker received, and those that others have stored."""

    def __init__(
        self, vault: CookieVault, set_id: int, clock: Clock, redact: Callable[..., object] | None
    ) -> None:
        super().__init__(clock.now)
        self._vault, self._id, self._clock, self._redact = vault, set_id, clock, redact
        self.uploads = 0
        self._version = 0
        self._fresh_until = float("-inf")
        self._loading = asyncio.Lock()
        self.has_others = False
        """Other workers may hold slots of the set."""

    async def refresh(self) -> None:
        """Take over what other workers stored meanwhile."""
        if not self.has_others or self._clock.monotonic() < self._fresh_until:
            return
        try:
            await self.catch_up()
        except StoreUnavailable:
            return  # others cannot store anything either

    async def catch_up(self) -> None:
        """Take over what others stored, and cookies that were uploaded since."""
        async with self._loading:
            versions = await self._vault.cookies.versions(self._id)
            if versions is not None and versions != (self.uploads, self._version):
                await self._load()
            self._fresh_until = self._clock.monotonic() + FRESH_S

    def store(self, url: str, headers: Iterable[bytes]) -> None:
        """Store the cookies of the Set-Cookie headers of an answer."""
        super().store(url, headers)
        self._mask(self.changes())

    async def save(self, token: str) -> bool:
        """Store what changed. Return False if it cannot be stored any more, and was dropped."""
        changed = self.changes()
        if not changed:
            return True
        version = await self._vault.write_jar(token, self.uploads, changed)
        self.confirm(changed)
        if version is None:
            self.uploads = 0  # what is stored counts, and is read again
            await self.catch_up()
            return False
        if version == self._version + 1:
            self._version = version
        return True

    async def _load(self) -> None:
        found = await self._vault.open_jar(self._id, after=self._version, uploads=self.uploads)
        if found.uploads != self.uploads:
            self.confirm(self.changes())
            self.forget_stored()
        elif found.version - self._version > KEPT_VERSIONS:
            found = await self._vault.open_jar(self._id, after=0, uploads=self.uploads)
            self.forget_stored()
        self.merge(found.cookies)
        self.uploads, self._version = found.uploads, max(found.version, 0)
        self._mask(found.cookies)

    def _mask(self, cookies: Iterable[Cookie]) -> None:
        if self._redact is not None:
            values = (one.value.decode(errors="replace") for one in cookies)
            self._redact(*(value for value in values if len(value) >= MIN_SECRET))


class Loan:
    """A slot of a set, lent to this worker. It is used by one request at a time."""

    def __init__(
        self, lease: CookieLease, of: CookieSet, jar: SetJar, ends_at: float, now: Callable[[], float]
    ) -> None:
        self.lease, self.of, self.jar = lease, of, jar
        self.ends_at = ends_at
        self.now = now
        self.requests = 0
        self.is_busy = False
        self.idle_since = now()
        self.gives_way = False
        """Another borrower waits for one."""
        self.is_dropped = False
        """Its set was set aside."""
        self.is_over = False
        self.timeout: asyncio.Timeout | None = None
        """Ends the request that uses it."""

    @property
    def left_s(self) -> float:
        """Seconds until it may not be used any more."""
        return 0.0 if self.is_over else max(self.ends_at - self.now(), 0.0)

    @property
    def is_free(self) -> bool:
        """Return whether a request may use it now."""
        return not (self.is_busy or self.gives_way or self.is_dropped) and self.left_s > 0.0

    def extend(self, ends_at: float) -> None:
        """Use it longer."""
        self.ends_at = ends_at
        if self.timeout is not None:
            self.timeout.reschedule(asyncio.get_running_loop().time() + self.left_s)

    def end(self) -> None:
        """Use it no more; the request that does is broken off."""
        self.is_over = True
        if self.timeout is not None:
            self.timeout.reschedule(asyncio.get_running_loop().time())


class DomainCookies:
    """See `Cookies`: those of a jar for its domain, and others for all other hosts."""

    def __init__(self, domain: str, jar: CookieJar, others: Cookies | None) -> None:
        self._domain, self._jar, self._others = domain, jar, others

    async def refresh(self) -> None:
        """Take over cookies that other workers received."""
        await self._jar.refresh()
        if self._others is not None:
            await self._others.refresh()

    def header_for(self, url: str) -> bytes | None:
        """Return the value of the Cookie header of a request; None if there are no cookies for it."""
        if is_in_domain(host_of(url), self._domain):
            return self._jar.header_for(url)
        return None if self._others is None else self._others.header_for(url)

    def store(self, url: str, headers: Iterable[bytes]) -> None:
        """Store the cookies of the Set-Cookie headers of an answer."""
        if is_in_domain(host_of(url), self._domain):
            self._jar.store(url, headers)
        elif self._others is not None:
            self._others.store(url, headers)


class LoanPermit:
    """See `Permit`: nothing is sent once the loan has ended, however late the process notices."""

    def __init__(self, permit: Permit, loan: Loan) -> None:
        self._permit, self._loan = permit, loan

    async def approach(self) -> None:
        """Wait until the send window is near."""
        await self._permit.approach()

    async def enter(self) -> None:
        """Wait for the send window."""
        await self._permit.enter()
        if self._loan.left_s <= 0.0:
            raise CookieRetry(f"{self._loan.of.title} had to be given back")

    def sent(self) -> None:
        """Record that the request was sent."""
        self._loan.requests += 1
        self._permit.sent()

    def another(self, host: str) -> LoanPermit:
        """Return a permit for one more request of the same lease."""
        return LoanPermit(self._permit.another(host), self._loan)
