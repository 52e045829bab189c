"""The `http` transport: one HTTP exchange with aiohttp, without redirects or retries, limited in bytes and
time.
"""

from __future__ import annotations

import asyncio
import io
import ssl
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

from smartspider.core.errors import (
    ConnectionDropped,
    FetchFailed,
    ProxyFailed,
    ProxyRefused,
    TimedOut,
    TooLarge,
)
from smartspider.core.pages.files import FILE_PAGE
from smartspider.core.pages.page import Page
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.charset.detection import detect_charset
from smartspider.fetch.cookie_header import merge_cookies, send_bytes
from smartspider.fetch.exchange import (
    PermittedSend,
    PreparedHeaders,
    StaleConnection,
    page_headers,
    read_body,
    read_start,
)
from smartspider.fetch.sessions import TransportSessions
from smartspider.fetch.translate import FOREIGN, is_proxy_error, translate_error
from smartspider.interfaces.fetcher import Exchange, Proxy, TransportContext

CONNECT_S = 15.0
"""Timeout of name resolution, TCP and TLS together."""

_FRESH_CONNECTIONS = 3
"""Connections that may close in a row while waiting for a permit."""
_BIG_BODY = 1_000_000

_send: ContextVar[PermittedSend] = ContextVar("send")


class _PermittedRequest(aiohttp.ClientRequest):
    """Enters the permit between the connection and the first byte, so that connecting does not use the
    window.

    Takes prepared headers from the send: aiohttp would copy each of them twice.
    """

    def update_headers(self, headers: LooseHeaders | None) -> None:  # noqa: ARG002 - the send has them
        send = _send.get()
        prepared, names_host = send.headers
        self.headers = prepared.copy()
        if not names_host:
            self.headers[HOST] = self.url.host_port_subcomponent or ""
        if send.cookie is not None:
            self.headers[COOKIE] = merge_cookies(self.headers.get(COOKIE), send.cookie)

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        send = _send.get()
        await send.begin(conn)
        if send.cookie is not None:
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

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the response to a request, whatever its status."""
        page = exchange.request.page
        own = self._plan.pages.get(page)
        if own is None:
            return await self._fetch_routed(exchange, self._plan)
        try:
            return await self._fetch_routed(exchange, own)
        except TooLarge as error:
            raise _too_large(page, own.max_bytes, self._plan.max_bytes) or error from None

    async def _fetch_routed(self, exchange: Exchange, plan: FetchPlan) -> Page:
        """Fetch through the proxy that the session chooses, and report how that went."""
        request, proxies = exchange.request, exchange.session.proxies
        exchange.progress.proxy_id = None
        proxy = None if proxies is None else await proxies.choose(request)
        if proxies is None or proxy is None:
            return await self._fetch(exchange, plan)
        exchange.progress.proxy_id = proxy.id or None
        try:
            page = await self._fetch(exchange, plan, proxy)
        except FetchFailed as error:
            raise await proxies.failed(request, proxy, error) from error
        await proxies.worked(request, proxy, page.elapsed_s)
        return page

    async def _fetch(self, exchange: Exchange, plan: FetchPlan, proxy: Proxy | None = None) -> Page:
        request, permit, cookies = exchange.request, exchange.permit, exchange.session.cookies
        progress = exchange.progress
        headers = _prepared(request.extras.headers)
        for _ in range(_FRESH_CONNECTIONS):
            progress.only_waits = True
            await permit.approach()
            if cookies is not None:
                await cookies.refresh()
            send = PermittedSend(headers, permit, plan.timeout_s, self._clock)
            token = _send.set(send)
            try:
                return await self._converse(exchange, send, plan, proxy)
            except StaleConnection:
                # The entered window is unused: the next connection reserves its own.
                permit = permit.another(request.host)
            except asyncio.CancelledError as error:
                if not send.has_timed_out():
                    raise
                raise TimedOut(f"{request.url}: no response within {plan.timeout_s:g} s") from error
            except FOREIGN as error:
                raise translate_error(error, request.url) from error
            finally:
                progress.only_waits, progress.received = False, 0
                send.end()
                _send.reset(token)
        raise ConnectionDropped(f"{request.url}: the server closes every connection before a request is sent")

    async def _converse(
        self, exchange: Exchange, send: PermittedSend, plan: FetchPlan, proxy: Proxy | None
    ) -> Page:
        request, cookies = exchange.request, exchange.session.cookies
        extras = request.extras
        send.cookie = cookies.header_for(request.url) if cookies is not None else None
        session, via = self._sessions.direct if proxy is None else self._sessions.via_proxy(proxy.url)
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
            body = await (read_start if plan.truncates else read_body)(
                answer, plan.max_bytes, exchange.progress
            )
        except BaseException:
            answer.close()
            raise
        if not answer.closed:
            answer.close()
        if answer.status == 407 and via is not None:
            raise ProxyFailed(f"{request.url}: the proxy rejected the credentials")
        if via is not None and is_proxy_error(answer.status, answer.headers):
            raise ProxyRefused(f"{request.url}: the proxy answered by itself ({answer.status})")
        headers = page_headers(answer.headers)
        return Page(
            url=request.url,
            status=answer.status,
            headers=headers,
            body=body,
            charset=detect_charset(body, headers.get("content-type", "")),
            fetched_at=self._clock.now(),
            elapsed_s=self._clock.monotonic() - send.sent_at,
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


@lru_cache(maxsize=1024)
def _prepared(headers: tuple[tuple[str, str], ...]) -> PreparedHeaders:
    names_host = any(name.lower() == "host" for name, _ in headers)
    return CIMultiDict(headers if names_host else ((HOST, ""), *headers)), names_host


def _body_stream(body: bytes | None) -> bytes | io.BytesIO | None:
    """Return large bodies as a stream, so that writing them does not block the event loop."""
    return body if body is None or len(body) < _BIG_BODY else io.BytesIO(body)
