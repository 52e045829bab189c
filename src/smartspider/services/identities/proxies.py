"""Pools of proxies."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from smartspider.core.access import Principal, require
from smartspider.core.errors import Problem, RequestInvalid, SettingInvalid
from smartspider.core.proxies import parse_proxy_url
from smartspider.core.runs.plan import Plan
from smartspider.installation.installation import Installation
from smartspider.installation.vault import Vault
from smartspider.services.inputs import parse_cursor, to_page
from smartspider.views.identities.proxies import ProxyView, proxy_view
from smartspider.views.listed import Listed

DEFAULT_POOL = "default"
MAX_POOL = 100
_POOL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


async def list_proxies(
    installation: Installation, *, pool: str | None, cursor: str | None, limit: int
) -> Listed[ProxyView]:
    """Return proxies in the order of their ids."""
    after = parse_cursor(cursor) or 0
    found = await installation.vault.proxies.find(pool=pool, after=after, limit=limit + 1)
    now = installation.clock.now()
    return to_page(found, limit, lambda one: one.id, lambda one: proxy_view(one, now))


async def add_proxy(
    installation: Installation, principal: Principal, url: str, *, pool: str, weight: float
) -> ProxyView:
    """Add a proxy to a pool."""
    require(principal, "proxies", "write")
    if len(pool) > MAX_POOL or not _POOL.fullmatch(pool):
        raise _invalid("pool", "is not a name", f"letters, digits, _, . and -, at most {MAX_POOL} characters")
    if not 0 < weight <= 1000 or not math.isfinite(weight):
        raise _invalid("weight", "is not between 0 and 1000", "1 is the weight of a proxy without one")
    record = await installation.vault.add_proxy(pool, parse_proxy_url(url), weight, actor=principal.name)
    return proxy_view(record, installation.clock.now())


async def remove_proxy(installation: Installation, principal: Principal, id_: int) -> None:
    """Delete a proxy. Runs stop using it within a second."""
    require(principal, "proxies", "write")
    await installation.vault.proxies.delete(id_, actor=principal.name)


async def ban_proxy(installation: Installation, principal: Principal, id_: int, for_s: float) -> ProxyView:
    """Ban a proxy for a time; 0 ends its ban."""
    require(principal, "proxies", "write")
    record = await installation.vault.proxies.ban(id_, for_s, actor=principal.name)
    return proxy_view(record, installation.clock.now())


async def vault_with_pool(vaults: Sequence[Vault], pool: str) -> Vault:
    """Return the first vault that has proxies of a pool; raise `SettingInvalid` if none has."""
    for vault in vaults:
        if await vault.proxies.find(pool=pool, limit=1):
            return vault
    raise SettingInvalid(
        f"the task names the proxy pool {pool}, which has no proxy",
        hint=f"add one by `smartspider proxy add URL --pool {pool}`; `smartspider proxy list` shows all",
    )


async def check_pools(installation: Installation, plan: Plan, *, is_local: bool = False) -> None:
    """Raise `SettingInvalid` if a pool of a plan has no proxy."""
    if not plan.fetch.proxy_pools:
        return
    with installation.open_vaults(is_local=is_local) as vaults:
        for pool in plan.fetch.proxy_pools:
            await vault_with_pool(vaults, pool)


PooledUrls = Mapping[tuple[str, int], str]
"""URLs of proxies, without users and passwords, by pool and id."""


async def pooled_urls(installation: Installation, plan: Plan) -> PooledUrls:
    """Return the URLs of the proxies of a plan, of the vault that a crawl of it takes them from."""
    found: dict[tuple[str, int], str] = {}
    if plan.fetch.proxy_pools:
        with installation.open_vaults(is_local=True) as vaults:
            for pool in plan.fetch.proxy_pools:
                with suppress(SettingInvalid):  # all its proxies were removed
                    vault = await vault_with_pool(vaults, pool)
                    found |= {(pool, one.id): one.url for one in await vault.proxies.find(pool=pool)}
    return found


async def open_one(installation: Installation, pools: Sequence[str], *, opened_by: str) -> str:
    """Return the URL of a proxy of the first of some pools, for a preview: one that is not banned, if there
    is one.
    """
    await vault_with_pool([installation.vault], pools[0])
    found = await installation.vault.proxies.find(pool=pools[0])
    best = min(found, key=lambda one: (one.banned_until, -one.success))
    return (await installation.vault.open_proxies([best.id], opened_by=opened_by))[best.id]


def _invalid(path: str, what: str, hint: str) -> RequestInvalid:
    return RequestInvalid(f"the proxy's {path} {what}", (Problem(path, what, hint),), hint=hint)
