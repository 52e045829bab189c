"""Pools of proxies."""

from __future__ import annotations

from typing import Annotated

from smartspider.operations.operation import Body, Operations, Replay, operation
from smartspider.services.inputs import parse_id
from smartspider.views.identities.proxies import ProxyCheckView, ProxyView
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, Id, IdempotencyKey, Limit, body, query

PROXY = "/api/proxies/{proxy_id}"
CHECKED_URL = "http://example.com/"


class ProxyOperations(Operations):
    """Proxies by pool. Nothing returns a user or a password."""

    @operation(
        "GET",
        "/api/proxies",
        needs=("proxies", "read"),
        summary="List proxies",
        answer="A page of proxies, without their passwords",
    )
    async def list_proxies(
        self,
        *,
        pool: Annotated[str | None, query("Only those of this pool.", max_length=100)] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[ProxyView]:
        """List proxies, oldest first, with what workers learned about them."""
        from smartspider.services.identities import proxies

        return await proxies.list_proxies(self.installation, pool=pool, cursor=cursor, limit=limit)

    @operation(
        "POST",
        "/api/proxies",
        needs=("proxies", "write"),
        summary="Add a proxy",
        answer="The proxy, without its password",
        status=201,
        replay=Replay(),
        body=Body(
            "ProxyBody",
            "A proxy and its pool.",
            examples=({"url": "http://user:password@proxy.example.com:3128", "pool": "dc"},),
            is_secret=True,
        ),
    )
    async def add_proxy(
        self,
        *,
        url: Annotated[
            str,
            body("http, https, socks5 or socks5h, with user and password.", min_length=1, max_length=2000),
        ],
        pool: Annotated[str, body("The name of its pool.", min_length=1, max_length=100)] = "default",
        weight: Annotated[
            float, body("How often it is chosen, compared with others that work as well.", gt=0, le=1000)
        ] = 1.0,
        idempotency_key: IdempotencyKey = None,
    ) -> ProxyView:
        """Add a proxy to a pool, which tasks name as `fetch.proxy_pool`. Its URL is stored encrypted.

        It may be on a private address, so only admins change pools; the tasks of all users may use them.
        """
        from smartspider.services.identities import proxies

        return await proxies.add_proxy(self.installation, self.principal, url, pool=pool, weight=weight)

    @operation(
        "DELETE",
        PROXY,
        needs=("proxies", "write"),
        summary="Remove a proxy",
        answer="The proxy was removed",
        status=204,
    )
    async def remove_proxy(self, proxy_id: Id) -> None:
        """Remove a proxy from its pool, with its URL."""
        from smartspider.services.identities import proxies

        id_ = parse_id(proxy_id, "proxy")
        await proxies.remove_proxy(self.installation, self.principal, id_)

    @operation(
        "POST",
        f"{PROXY}/ban",
        needs=("proxies", "write"),
        summary="Ban a proxy",
        answer="The proxy",
        body=Body("ProxyBan", "How long no request goes through it.", examples=({"seconds": 600},)),
    )
    async def ban_proxy(
        self,
        proxy_id: Id,
        *,
        seconds: Annotated[float, body("Length of the ban; 0 ends one.", ge=0, le=31_536_000)] = 3600.0,
    ) -> ProxyView:
        """Send no request through a proxy for a time, or end its ban."""
        from smartspider.services.identities import proxies

        id_ = parse_id(proxy_id, "proxy")
        return await proxies.ban_proxy(self.installation, self.principal, id_, seconds)

    @operation(
        "POST",
        f"{PROXY}/check",
        needs=("proxies", "write"),
        summary="Check a proxy",
        answer="Whether a page could be fetched through it",
        body=Body("ProxyCheck", "What to fetch.", examples=({"url": "https://shop.example/"},)),
        is_heavy=True,
    )
    async def check_proxy(
        self,
        proxy_id: Id,
        *,
        url: Annotated[str, body("The page to fetch.", min_length=1, max_length=2000)] = CHECKED_URL,
    ) -> ProxyCheckView:
        """Fetch a page through a proxy, at the rate limit of its host. If the proxy works its ban ends, and
        if it fails it is banned.
        """
        from smartspider.wiring.proxy_check import check_proxy

        return await check_proxy(self.installation, self.principal, parse_id(proxy_id, "proxy"), url)
