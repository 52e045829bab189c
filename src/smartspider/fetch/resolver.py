"""Names become addresses here, and only checked addresses are connected to."""

from __future__ import annotations

import socket
from ipaddress import ip_address

from aiohttp.abc import AbstractResolver, ResolveResult

from smartspider.fetch.addresses import AddressPolicy


class CheckedResolver(AbstractResolver):
    """Gives the addresses of a name that the policy permits, and `PrivateAddress` when none is left.

    The connection is made to exactly these addresses, so a second answer of DNS cannot move it.
    """

    def __init__(self, policy: AddressPolicy, inner: AbstractResolver) -> None:
        self._policy = policy
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The permitted addresses of a name."""
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
