"""Refuse private addresses, at every hop."""

from __future__ import annotations

import socket
from ipaddress import ip_address

from aiohttp.abc import AbstractResolver, ResolveResult

from smartspider.core.errors import PrivateAddress
from smartspider.core.pages.page import Page
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.interfaces.fetcher import Exchange, Fetcher

KNOWN_ORIGINS = 10_000


class GuardLayer:
    """Refuses literal private addresses and local names before anything is sent.

    `CheckedResolver` checks other names when they resolve. Behind a proxy names resolve at the proxy, so
    only this layer's checks apply.
    """

    def __init__(self, inner: Fetcher, policy: AddressPolicy) -> None:
        self._inner = inner
        self._policy = policy
        self._known: dict[str, PrivateAddress | None] = {}

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the page, or raise `PrivateAddress`."""
        url = exchange.request.url
        origin = url[: url.find("/", 8)]
        try:
            refusal = self._known[origin]
        except KeyError:
            refusal = self._judge(origin, url)
        if refusal is not None:
            raise PrivateAddress(refusal.message, hint=refusal.hint)
        return await self._inner.fetch(exchange)

    def _judge(self, origin: str, url: str) -> PrivateAddress | None:
        if len(self._known) >= KNOWN_ORIGINS:
            self._known.clear()
        refusal = self._known[origin] = self._policy.refuse_url(url)
        return refusal


class CheckedResolver(AbstractResolver):
    """Resolves names to the addresses that the policy permits; raises `PrivateAddress` if none is left.

    The connection is made to exactly these addresses, so a second DNS answer cannot change it.
    """

    def __init__(self, policy: AddressPolicy, inner: AbstractResolver) -> None:
        self._policy = policy
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the permitted addresses of a name."""
        found = await self._inner.resolve(host, port, family)
        if not found:
            raise OSError(f"DNS has no address for {host}")
        if self._policy.is_open(host, port):
            return found
        permitted = [one for one in found if self._policy.permits(ip_address(one["host"]))]
        if not permitted:
            raise self._policy.refuse_resolved(host, port, [one["host"] for one in found])
        return permitted

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()
