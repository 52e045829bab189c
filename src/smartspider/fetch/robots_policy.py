"""Apply robots.txt (RFC 9309) to every request."""

from __future__ import annotations

import asyncio

from smartspider.core.errors import (
    BadRedirect,
    ConnectFailed,
    FetchFailed,
    NameNotResolved,
    RobotsDisallowed,
    RobotsUnavailable,
    TlsFailed,
)
from smartspider.core.pages.page import Page, redirect_target
from smartspider.core.pages.rules import ROBOTS_RULES_PAGE
from smartspider.core.requests.request import Request
from smartspider.core.requests.urls import host_of, origin_of
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.robots_file import RobotsFile
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Exchange, Fetcher
from smartspider.interfaces.robots_cache import RobotsAnswer, RobotsCache


class RobotsLayer:
    """Passes on requests that robots.txt allows. Inside the redirect layer, so every hop is checked."""

    def __init__(self, inner: Fetcher, rules: RobotsPolicy) -> None:
        self._inner = inner
        self._rules = rules

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the page, or raise `RobotsDisallowed` or `RobotsUnavailable`."""
        if not self._rules.allowed_if_known(exchange.request.url):
            await self._rules.check(exchange)
        return await self._inner.fetch(exchange)


KEEP_S = 24 * 3600.0
KEEP_UNAVAILABLE_S = 60.0
MAX_HOPS = 5
_TOO_MANY_HOPS = 310
"""The status stored for a robots.txt with too many redirects; RFC 9309 treats it as missing."""
KNOWN_ORIGINS = 10_000
KNOWN_BYTES = 2_000_000
"""Total size of cached files. A parsed file takes about twelve times its length."""


class _OriginRules:
    """The rules of an origin. `file` None: everything is allowed. `status` from 500: nothing is allowed for
    now.
    """

    __slots__ = ("expires_at", "file", "status")

    def __init__(self, file: RobotsFile | None, status: int, expires_at: float) -> None:
        self.file = file
        self.status = status
        self.expires_at = expires_at

    @property
    def size(self) -> int:
        return 0 if self.file is None else self.file.size

    @property
    def is_unavailable(self) -> bool:
        return self.status >= 500


SITE_DOWN = (ConnectFailed, NameNotResolved, TlsFailed)
"""Failures of a whole site."""
_Outcome = _OriginRules | FetchFailed | None
"""The result of a shared request; None: it was cancelled, and another task has to send it."""


class RobotsPolicy:
    """RFC 9309 for every origin of a run. One robots.txt request per origin is in flight; other tasks wait
    for it.

    `fetcher` reads robots.txt: guarded, cut at the size limit of its page type, without redirects and without
    this policy.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        headers: HeaderPlan,
        cache: RobotsCache,
        clock: Clock,
        max_bytes: int = KNOWN_BYTES,
    ) -> None:
        self._max_bytes = max_bytes
        self._fetcher = fetcher
        self._headers = headers
        self._cache = cache
        self._clock = clock
        self._known: dict[str, _OriginRules] = {}
        """Least recently used first."""
        self._known_bytes = 0
        self._flights: dict[str, asyncio.Future[_Outcome]] = {}

    def allowed_if_known(self, url: str) -> bool | None:
        """Return whether a URL may be fetched; None if its robots.txt is not known yet. Does no I/O."""
        known = self._fresh(_origin(url))
        if known is None or known.is_unavailable:
            return None
        return known.file is None or known.file.allows(url)

    async def check(self, exchange: Exchange) -> None:
        """Raise `RobotsDisallowed`, `RobotsUnavailable` or the failure unless a request may be sent."""
        url = exchange.request.url
        origin = _origin(url)
        known = self._fresh(origin)
        if known is None:
            try:
                known = await self._ask(origin, exchange)
            except SITE_DOWN as failure:  # the site is not there: robots.txt is not the point
                message = failure.message.replace(f"{origin}/robots.txt", origin, 1)
                raise type(failure)(message, hint=failure.hint) from failure
        else:
            self._known[origin] = self._known.pop(origin)
        if known.is_unavailable:
            raise RobotsUnavailable(
                f"robots.txt of {origin} answers {known.status}; nothing is fetched until it is available"
            )
        if known.file is None or known.file.allows(url):
            return
        line = known.file.deciding_line(url) or "a rule"
        raise RobotsDisallowed(
            f"robots.txt of {origin} forbids {url[len(origin) :]} ({line})",
            hint="if you are allowed to: politeness.robots: ignore in the task, or --ignore-robots",
        )

    def _fresh(self, origin: str) -> _OriginRules | None:
        known = self._known.get(origin)
        return None if known is None or known.expires_at <= self._clock.now() else known

    async def _ask(self, origin: str, exchange: Exchange) -> _OriginRules:
        while True:
            flight = self._flights.get(origin)
            if flight is None:
                return await self._fetch_once(origin, exchange)
            outcome = await asyncio.shield(flight)
            if isinstance(outcome, FetchFailed):
                raise type(outcome)(outcome.message, hint=outcome.hint)
            if outcome is not None:
                return outcome

    async def _fetch_once(self, origin: str, exchange: Exchange) -> _OriginRules:
        flight = self._flights[origin] = asyncio.get_running_loop().create_future()
        outcome: _Outcome = None
        try:
            outcome = await self._load_cached(origin) or await self._fetch(origin, exchange)
        except FetchFailed as failure:
            outcome = failure
            raise
        else:
            self._remember(origin, outcome)
            return outcome
        finally:
            del self._flights[origin]
            flight.set_result(outcome)

    async def _load_cached(self, origin: str) -> _OriginRules | None:
        answer = await self._cache.get_robots(origin)
        if answer is None or answer.expires_at <= self._clock.now():
            return None
        file = None if answer.body is None else RobotsFile(answer.body)
        return _OriginRules(file, answer.status, answer.expires_at)

    async def _fetch(self, origin: str, exchange: Exchange) -> _OriginRules:
        page = await self._read(origin, exchange)
        now = self._clock.now()
        if page is not None and page.status >= 500:
            return _OriginRules(None, page.status, now + KEEP_UNAVAILABLE_S)
        body = page.body if page is not None and 200 <= page.status < 300 else None
        file = None if body is None else RobotsFile(body)
        status = _TOO_MANY_HOPS if page is None else page.status
        answer = RobotsAnswer(origin, status, body, fetched_at=now, expires_at=now + KEEP_S)
        delay_s = None if file is None else file.crawl_delay_s
        await self._cache.put_robots(answer, host=host_of(origin), crawl_delay_s=delay_s)
        return _OriginRules(file, status, answer.expires_at)

    async def _read(self, origin: str, exchange: Exchange) -> Page | None:
        """Return the page at the end of the redirects, on any host; None if there are too many."""
        url = f"{origin}/robots.txt"
        for _ in range(1 + MAX_HOPS):
            extras = self._headers.robots_extras(host_of(url))
            request = Request(url, b"", ROBOTS_RULES_PAGE, extras=extras)
            page = await self._fetcher.fetch(exchange.another(request).without_cookies())
            try:
                target = redirect_target(page)
            except BadRedirect:
                return page
            if target is None:
                return page
            url = target
        return None

    def _remember(self, origin: str, known: _OriginRules) -> None:
        before = self._known.pop(origin, None)
        self._known_bytes += known.size - (0 if before is None else before.size)
        while self._known and (len(self._known) >= KNOWN_ORIGINS or self._known_bytes > self._max_bytes):
            self._known_bytes -= self._known.pop(next(iter(self._known))).size
        self._known[origin] = known


def _origin(url: str) -> str:
    """`origin_of` at a tenth of the cost for the common case: pages have hundreds of links."""
    origin = url[: url.find("/", 8)]
    return origin_of(url) if "@" in origin else origin
