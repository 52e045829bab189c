"""The `http` transport: one HTTP exchange with aiohttp, without redirects or retries, limited in bytes and
time.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import lru_cache
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.connector import Connection
from aiohttp.hdrs import COOKIE, HOST, SET_COOKIE
from aiohttp.typedefs import LooseHeaders
from multidict import CIMultiDict
from yarl import URL

from smartspider.core.errors import ConnectionDropped, ProxyFailed, TimedOut, TooLarge
from smartspider.core.pages.files import FILE_PAGE
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.charset.detection import detect_charset
from smartspider.fetch.cookie_header import merge_cookies, send_bytes
from smartspider.fetch.exchange import (
    Exchange,
    PreparedHeaders,
    StaleConnection,
    page_headers,
    read_body,
    read_start,
)
from smartspider.fetch.sessions import TransportSessions
from smartspider.fetch.translate import FOREIGN, translate_error
from smartspider.interfaces.fetcher import Fetcher, Permit, TransportContext

CONNECT_S = 15.0
"""Timeout of name resolution, TCP and TLS together."""

_FRESH_CONNECTIONS = 3
"""Connections that may close in a row while waiting for a permit."""
_BIG_BODY = 1_000_000

ReadBody = Callable[[aiohttp.ClientResponse, int], Awaitable[bytes]]

_exchange: ContextVar[Exchange] = ContextVar("exchange")


class _PermittedRequest(aiohttp.ClientRequest):
    """Enters the permit between the connection and the first byte, so that connecting does not use the
    window.

    Takes prepared headers from the exchange: aiohttp would copy each of them twice.
    """

    def update_headers(self, headers: LooseHeaders | None) -> None:  # noqa: ARG002 - the exchange has them
        exchange = _exchange.get()
        prepared, names_host = exchange.headers
        self.headers = prepared.copy()
        if not names_host:
            self.headers[HOST] = self.url.host_port_subcomponent or ""
        if exchange.cookie is not None:
            self.headers[COOKIE] = merge_cookies(self.headers.get(COOKIE), exchange.cookie)

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        exchange = _exchange.get()
        await exchange.begin(conn)
        if exchange.cookie is not None:
            send_bytes(self.headers, conn)
        return await super().send(conn)


class AiohttpTransport:
    """See `interfaces/fetcher.py`. Proxies may be http, https or socks5."""

    def __init__(
        self,
        plan: FetchPlan,
        context: TransportContext,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._plan = plan
        self._clock = context.clock
        self._choose_proxy = context.choose_proxy
        self._cookies = context.cookies
        self._sessions = TransportSessions(
            context.policy, _PermittedRequest, min(CONNECT_S, _longest_s(plan)), tls
        )

    async def __aenter__(self) -> Self:
        await self._sessions.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._sessions.close()

    async def fetch(self, request: Request, permit: Permit) -> Page:
        """Return the response to a request, whatever its status."""
        own = self._plan.pages.get(request.page)
        if own is None:
            return await self._fetch(request, permit, read_body, self._plan.max_bytes)
        try:
            return await self._fetch(request, permit, read_body, own.max_bytes)
        except TooLarge as error:
            raise _too_large(request.page, own.max_bytes, self._plan.max_bytes) or error from None

    def cut_at(self, max_bytes: int) -> Fetcher:
        """Return a fetcher that truncates longer bodies instead of refusing them."""
        return _TruncatingFetcher(self._fetch, max_bytes)

    async def _fetch(self, request: Request, permit: Permit, read: ReadBody, max_bytes: int) -> Page:
        headers = _prepared(request.extras.headers)
        timeout_s = self._plan.of_page(request.page).timeout_s
        for _ in range(_FRESH_CONNECTIONS):
            await permit.approach()
            if self._cookies is not None:
                await self._cookies.refresh()
            exchange = Exchange(headers, permit, timeout_s, self._clock)
            token = _exchange.set(exchange)
            try:
                return await self._converse(request, exchange, read, max_bytes)
            except StaleConnection:
                # The entered window is unused: the next connection reserves its own.
                permit = permit.another(request.host)
            except asyncio.CancelledError as error:
                if not exchange.has_timed_out():
                    raise
                raise TimedOut(f"{request.url}: no response within {timeout_s:g} s") from error
            except FOREIGN as error:
                raise translate_error(error, request.url) from error
            finally:
                exchange.end()
                _exchange.reset(token)
        raise ConnectionDropped(f"{request.url}: the server closes every connection before a request is sent")

    async def _converse(self, request: Request, exchange: Exchange, read: ReadBody, max_bytes: int) -> Page:
        extras = request.extras
        proxy = self._choose_proxy(request) if self._choose_proxy is not None else None
        cookies = self._cookies
        exchange.cookie = cookies.header_for(request.url) if cookies is not None else None
        session, via = self._sessions.direct if proxy is None else self._sessions.via_proxy(proxy)
        answer = await session.request(
            extras.method,
            URL(request.url, encoded=True),
            data=_body_stream(extras.body),
            proxy=via,
            allow_redirects=False,
        )
        if cookies is not None and SET_COOKIE in answer.headers:
            lines = (value for name, value in answer.raw_headers if name.lower() == b"set-cookie")
            cookies.store(request.url, lines)
        try:
            body = await read(answer, max_bytes)
        except BaseException:
            answer.close()
            raise
        if not answer.closed:
            answer.close()
        if answer.status == 407 and via is not None:
            raise ProxyFailed(f"{request.url}: the proxy rejected the credentials")
        headers = page_headers(answer.headers)
        return Page(
            url=request.url,
            status=answer.status,
            headers=headers,
            body=body,
            charset=detect_charset(body, headers.get("content-type", "")),
            fetched_at=self._clock.now(),
            elapsed_s=self._clock.monotonic() - exchange.sent_at,
        )


def _longest_s(plan: FetchPlan) -> float:
    return max(own.timeout_s for own in (plan, *plan.pages.values()))


def _too_large(page: str, limit: int, usual: int) -> TooLarge | None:
    """Return the error that names the limit of a page type; None if it has the limit of the task."""
    if page.startswith(FILE_PAGE):
        what = f"the file has more bytes than max_bytes of the step 'download' allows ({limit})"
        return TooLarge(what, hint="raise max_bytes of the step")
    what = f"the body has more bytes than pages.{page}.fetch.max_bytes allows ({limit})"
    return None if limit == usual else TooLarge(what)


class _TruncatingFetcher:
    """A fetcher that reads the start of bodies."""

    def __init__(
        self, fetch: Callable[[Request, Permit, ReadBody, int], Awaitable[Page]], max_bytes: int
    ) -> None:
        self._fetch = fetch
        self._max_bytes = max_bytes

    async def fetch(self, request: Request, permit: Permit) -> Page:
        """Return the page with the start of its body."""
        return await self._fetch(request, permit, read_start, self._max_bytes)


@lru_cache(maxsize=1024)
def _prepared(headers: tuple[tuple[str, str], ...]) -> PreparedHeaders:
    names_host = any(name.lower() == "host" for name, _ in headers)
    return CIMultiDict(headers if names_host else ((HOST, ""), *headers)), names_host


def _body_stream(body: bytes | None) -> bytes | io.BytesIO | None:
    """Return large bodies as a stream, so that writing them does not block the event loop."""
    return body if body is None or len(body) < _BIG_BODY else io.BytesIO(body)
