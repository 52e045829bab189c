"""The session of a run in a worker: its connections and its cookies. It outlives the jobs that use it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol

from smartspider.core.cookies.jar import Cookie, CookieJar
from smartspider.core.errors import StoreUnavailable
from smartspider.engine.processor import AnswerExchange
from smartspider.engine.retry_or_close import Reading
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Exchange, Fetcher, FetchSession
from smartspider.store.cookies import KEPT_VERSIONS, StoredCookies

FRESH_S = 0.1
"""Cookies of other workers are looked up before a request is sent, unless they were this recently."""

ReadCookies = Callable[[int], Awaitable[StoredCookies]]
"""Returns the cookies of a run that were stored after a version."""


class RunCookies(CookieJar):
    """The cookies of a run: those that this worker received, and those that others have stored.

    Each settle stores those that changed; the store numbers the versions, and leases carry the newest.
    """

    def __init__(self, read: ReadCookies, clock: Clock) -> None:
        super().__init__(clock.now)
        self._read = read
        self._clock = clock
        self._version = 0
        self._fresh_until = 0.0
        self._loading = asyncio.Lock()

    async def refresh(self) -> None:
        """Take over what other workers stored meanwhile. While the store is unavailable, they can store
        nothing.
        """
        if self._clock.monotonic() < self._fresh_until:
            return
        async with self._loading:
            if self._clock.monotonic() >= self._fresh_until:
                with suppress(StoreUnavailable):
                    await self._load()

    async def catch_up(self, version: int) -> None:
        """Take over what others stored, up to a version that is known to be the newest one."""
        self._fresh_until = self._clock.monotonic() + FRESH_S
        if version > self._version:
            async with self._loading:
                if version > self._version:
                    await self._load()

    def stored(self, cookies: Sequence[Cookie], version: int) -> None:
        """Note that changes of this worker are stored as a version."""
        self.confirm(cookies)
        if version == self._version + 1:
            self._version = version  # nobody else stored anything in between

    async def _load(self) -> None:
        found = await self._read(self._version)
        if found.version - self._version > KEPT_VERSIONS and self._version:
            found = await self._read(0)
            self.forget_stored()
        self.merge(found.cookies)
        self._version = max(self._version, found.version)
        self._fresh_until = self._clock.monotonic() + FRESH_S


class Lending(Protocol):
    """Lends cookies of the vault to the requests of a run."""

    async def lend(self, exchange: Exchange, answer: AnswerExchange, fetcher: Fetcher) -> Reading:
        """Fetch and read a page with cookies of the vault, if there are any for its host."""

    async def store(self) -> None:
        """Store the cookies that changed."""


class Session(FetchSession, frozen=True, kw_only=True):
    """The connections and the cookies of a run in a worker; `cookies` None: the task turns them off."""

    transport: Fetcher
    cookies: RunCookies | None = None
    lending: Lending | None = None
    """Lends cookies of the vault; None: the task uses none."""
