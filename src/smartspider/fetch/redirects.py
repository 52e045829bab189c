"""Follow redirects like browsers do, within one host."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from smartspider.core.errors import TooManyRedirects
from smartspider.core.pages.meta_refresh import refresh_target
from smartspider.core.pages.page import REDIRECTS, Page, redirect_target
from smartspider.core.requests.origins import UNNAMED, OriginTrust
from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.request import Extras, Request
from smartspider.core.requests.request_headers import require_open_body, without_content, without_secrets
from smartspider.core.requests.urls import host_of
from smartspider.interfaces.fetcher import Exchange, Fetcher

MAX_REVISITS = 2
"""Cookie walls redirect a client back to the same page once or twice; more is a loop."""

Refuse = Callable[[str, Request], Refusal | None]
"""Returns why a redirect to a URL is refused, or None."""


class RedirectLayer:
    """Follows redirects on one hostname, each hop with its own permit.

    A redirect to another hostname, or one that `refuse` rejects, ends the fetch: the redirect itself is
    the page.
    """

    def __init__(
        self,
        inner: Fetcher,
        max_redirects: int,
        refuse: Refuse = lambda *_: None,
        trust: OriginTrust = UNNAMED,
    ) -> None:
        self._inner = inner
        self._trust = trust
        self._max_redirects = max_redirects
        self._refuse = refuse

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the page at the end of the redirects, with `hops` and `became_get` set."""
        request = exchange.request
        page = _with_refresh(await self._inner.fetch(exchange))
        if page.status not in REDIRECTS and page.refresh is None:
            return page
        host, method = host_of(request.url), request.extras.method
        hops: list[str] = []
        visits = {(request.extras.method, request.url): 1}
        while (target := redirect_target(page)) is not None and host_of(target) == host:
            if self._refuse(target, request) is not None:
                break
            request = _hop(request, target, page.status, self._trust)
            hops.append(page.url)
            visit = (request.extras.method, target)
            visits[visit] = visits.get(visit, 0) + 1
            if len(hops) > self._max_redirects:
                raise TooManyRedirects(f"{hops[0]} redirects more than {self._max_redirects} times")
            if visits[visit] > 1 + MAX_REVISITS:
                raise TooManyRedirects(f"{hops[0]} redirects in a loop through {target}")
            page = _with_refresh(await self._inner.fetch(exchange.another(request)))
        return msgspec.structs.replace(page, hops=tuple(hops), became_get=request.extras.method != method)


def _with_refresh(page: Page) -> Page:
    """Return the page with `refresh` set if it is a meta refresh, which costs next to nothing elsewhere."""
    if not 200 <= page.status < 300:
        return page
    target = refresh_target(page.url, page.media_type, page.charset, page.body)
    return page if target is None else msgspec.structs.replace(page, refresh=target)


def _hop(request: Request, target: str, status: int, trust: OriginTrust) -> Request:
    """Return the request for a hop: 303, a meta refresh, and POST after 301 and 302 become GET; secrets stay
    at their origin.

    A page version belongs to the original URL and is dropped.
    """
    extras = request.extras
    if extras.version is not None:
        own = {name for name, _ in extras.version.headers}
        kept = tuple(header for header in extras.headers if header[0] not in own)
        extras = msgspec.structs.replace(extras, headers=kept, version=None)
    becomes_get = (status not in {301, 302, 307, 308} and extras.method != "HEAD") or (
        status in {301, 302} and extras.method == "POST"
    )
    if becomes_get and extras.method != "GET":
        extras = Extras(headers=without_content(extras.headers), meta=extras.meta, variant=extras.variant)
    if not trust.goes_on(request.url, target):
        require_open_body(extras.body, target)
        extras = msgspec.structs.replace(extras, headers=without_secrets(extras.headers))
    return msgspec.structs.replace(request, url=target, extras=extras)
