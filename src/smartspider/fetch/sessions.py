"""The aiohttp sessions of a transport: one direct, one per proxy. They keep no cookies."""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from typing import Any

import aiohttp
from aiohttp.resolver import ThreadedResolver
from aiohttp_socks import ProxyConnector

from smartspider.core.errors import ProxyFailed
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.fetch.http_repair import MAX_HEAD_BYTES
from smartspider.fetch.lenient_parser import LenientHandler
from smartspider.fetch.private_addresses import CheckedResolver

MAX_HEADERS = 4096
DNS_CACHE_S = 60
KEEP_ALIVE_S = 15.0

Route = tuple[aiohttp.ClientSession, str | None]
"""A session, and the proxy to name in each request (socks connectors have their own)."""


class TransportSessions:
    """Opens sessions when they are first used, and closes them all.

    A proxy is configured explicitly, so the address policy does not apply to it.
    """

    direct: Route

    def __init__(
        self,
        policy: AddressPolicy,
        request_class: type[aiohttp.ClientRequest],
        connect_s: float,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._policy = policy
        self._request_class = request_class
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_s)
        self._tls: ssl.SSLContext | bool = True if tls is None else tls
        self._proxied: dict[str, Route] = {}

    async def open(self) -> None:
        """Open the direct session."""
        resolver = CheckedResolver(self._policy, ThreadedResolver())
        connector = aiohttp.TCPConnector(
            resolver=resolver,
            ttl_dns_cache=DNS_CACHE_S,
            limit=0,
            keepalive_timeout=KEEP_ALIVE_S,
            ssl=self._tls,
        )
        self.direct = (self._session(connector), None)

    async def close(self) -> None:
        """Close all sessions."""
        for session, _ in (self.direct, *self._proxied.values()):
            await session.close()

    def via_proxy(self, proxy: str) -> Route:
        """Return the session of a proxy; raise `ProxyFailed` for an unusable proxy URL."""
        route = self._proxied.get(proxy)
        if route is None:
            route = self._proxied[proxy] = self._open_proxied(proxy)
        return route

    def _open_proxied(self, proxy: str) -> Route:
        scheme = proxy.partition("://")[0].lower()
        if scheme in {"http", "https"}:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S, ssl=self._tls)
            return self._session(connector), proxy
        if scheme not in {"socks5", "socks5h"}:
            raise ProxyFailed(f"unsupported proxy scheme {scheme!r}", hint="use http, https or socks5")
        try:
            socks = ProxyConnector.from_url(
                f"socks5{proxy[len(scheme) :]}",
                rdns=True,
                limit=0,
                keepalive_timeout=KEEP_ALIVE_S,
                ssl=self._tls,
            )
        except ValueError as error:
            raise ProxyFailed(f"invalid proxy URL: {error}") from error
        return self._session(socks), None

    def _session(self, connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
        factory: Any = partial(LenientHandler, asyncio.get_running_loop())
        connector._factory = factory  # noqa: SLF001 - no public way to another protocol class
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=self._request_class,
            timeout=self._timeout,
            auto_decompress=False,
            max_line_size=MAX_HEAD_BYTES,
            max_field_size=MAX_HEAD_BYTES,
            max_headers=MAX_HEADERS,
        )
        session._retry_connection = False  # noqa: SLF001 - no public switch; a silent retry would pass the gate
        return session
