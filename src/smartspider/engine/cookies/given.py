"""Cookies that a preview was given: it borrows nothing itself, and has no key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from smartspider.core.cookies.jar import Cookie, CookieJar
from smartspider.core.cookies.sets import is_in_domain
from smartspider.engine.cookies.jar import DomainCookies
from smartspider.engine.processor import AnswerExchange
from smartspider.engine.retry_or_close import Reading
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Cookies, Exchange, Fetcher


class GivenCookies:
    """See `Lending`. One slot was borrowed, so one request at a time uses the cookies."""

    def __init__(self, domain: str, cookies: Sequence[Cookie], clock: Clock) -> None:
        self._domain = domain
        self._jar = CookieJar(clock.now)
        self._jar.merge(cookies)
        self._turn = asyncio.Lock()

    def changes(self) -> tuple[Cookie, ...]:
        """Return the cookies that the site set."""
        return self._jar.changes()

    def beside(self, others: Cookies | None) -> Cookies:
        """Return the cookies for all hosts."""
        return DomainCookies(self._domain, self._jar, others)

    async def lend(self, exchange: Exchange, answer: AnswerExchange, fetcher: Fetcher) -> Reading:  # noqa: ARG002
        """Fetch and read a page with the cookies, if they are for its host."""
        if not is_in_domain(exchange.request.host, self._domain):
            return await answer(exchange)
        own = msgspec.structs.replace(exchange.session, cookies=self.beside(exchange.session.cookies))
        async with self._turn:
            return await answer(msgspec.structs.replace(exchange, session=own))

    async def store(self) -> None:
        """Do nothing: whoever borrowed them stores what changed."""
