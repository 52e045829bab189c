"""Proxies by pool, with what workers learned about them. Their URLs are in the vault."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.proxies import ProxyRecord, ProxyUrl
from smartspider.core.vault import SealedKind, SealedValue
from smartspider.store import audit, statements
from smartspider.store.database import Connection, Database, one, rows
from smartspider.store.vault import Seal, SealContext, delete_sealed, find_sealed, put_sealed

SQL = statements.load("proxies.sql", __package__)

MAX_IN_POOL = 1_000
FIRST_BAN_S = 10.0
LONGEST_BAN_S = 3600.0
KEEP = 0.9
"""Share of a moving average that one more request keeps."""
PROXY: SealedKind = "proxy"
VERSION = 1
"""The URL of a proxy never changes."""


class ProxyReport(msgspec.Struct, frozen=True):
    """Requests that a worker sent through a proxy since its last report."""

    proxy_id: int
    requests: int
    failures: int
    """Requests that the proxy failed."""
    latency_s: float | None
    """Mean of the others; None if there are none."""


class ProxyTotals(NamedTuple):
    """Numbers of proxies by state, and of their requests by outcome."""

    free: int
    banned: int
    worked: int
    failed: int


class ProxyStore:
    """1. A proxy and its sealed URL change in one transaction, with its audit entry; no other column has the
    user or the password. 2. Opening URLs is in the audit: one entry for each time, with who opened them.
    3. A proxy that fails is banned for twice as long as the last time, 10 s to 1 h; failures during a ban do
    not make it longer, and a request that works after it makes the next ban the first again. 4. Reports of
    workers add up. 5. Lists and look-ups use an index.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(self, pool: str, proxy: ProxyUrl, weight: float, seal: Seal, *, actor: str) -> ProxyRecord:
        """Add a proxy to a pool."""

        def work(connection: Connection) -> ProxyRecord:
            if one(connection, SQL.count, (pool,)) >= MAX_IN_POOL:
                hint = "remove one that is not needed, or use another pool"
                raise NotAllowed(f"the pool {pool} has {MAX_IN_POOL} proxies, the maximum", hint=hint)
            now = self._db.now()
            values = (pool, proxy.kind, proxy.address, weight, actor, now)
            id_ = one(connection, SQL.add, values)
            put_sealed(connection, PROXY, id_, VERSION, seal)
            detail = {"pool": pool, "address": f"{proxy.kind}://{proxy.address}"}
            audit.write(connection, now, actor, "proxy.added", f"proxy:{id_}", **detail)
            return _get(connection, id_)

        return await self._db.write(work)

    async def get(self, id_: int) -> ProxyRecord:
        """Return a proxy; raise `NotFound` if there is none."""
        return await self._db.read(lambda connection: _get(connection, id_))

    async def find(
        self, *, pool: str | None = None, after: int = 0, limit: int = MAX_IN_POOL
    ) -> list[ProxyRecord]:
        """Return proxies of a pool, or of all pools, in the order of their ids."""
        if pool is None:
            return [_proxy(found) for found in await self._db.fetch(SQL.proxies, (after, limit))]
        return [_proxy(found) for found in await self._db.fetch(SQL.in_pool, (pool, after, limit))]

    async def totals(self) -> ProxyTotals:
        """Return the numbers of all proxies."""
        ((free, banned, worked, failed),) = await self._db.fetch(SQL.totals, (self._db.now(),))
        return ProxyTotals(int(free), int(banned), int(worked), int(failed))

    async def delete(self, id_: int, *, actor: str) -> None:
        """Delete a proxy with its URL."""

        def work(connection: Connection) -> None:
            record = _get(connection, id_)
            delete_sealed(connection, PROXY, id_)
            connection.execute(SQL.delete, (id_,))
            audit.write(connection, self._db.now(), actor, "proxy.removed", f"proxy:{id_}", pool=record.pool)

        await self._db.write(work)

    async def open(self, ids: Collection[int], *, opened_by: str) -> list[tuple[SealContext, SealedValue]]:
        """Return the sealed URLs of the proxies that there are."""

        def work(connection: Connection) -> list[tuple[SealContext, SealedValue]]:
            found = [find_sealed(connection, PROXY, id_, VERSION) for id_ in sorted(ids)]
            sealed = [each for each in found if each is not None]
            if sealed:
                opened = [context.id for context, _ in sealed]
                audit.write(connection, self._db.now(), opened_by, "proxies.opened", "vault", proxies=opened)
            return sealed

        return await self._db.write(work)

    async def report(self, reports: Sequence[ProxyReport]) -> None:
        """Add the requests of a worker."""

        def work(connection: Connection) -> None:
            now = self._db.now()
            for each in sorted(reports, key=lambda each: each.proxy_id):  # one order, so that none deadlock
                keep = KEEP**each.requests
                success = (1 - each.failures / each.requests) * (1 - keep)
                latency_s = -1.0 if each.latency_s is None else each.latency_s
                values = (each.proxy_id, each.requests, each.failures, keep, success, latency_s, now)
                connection.execute(SQL.report, values)

        await self._db.write(work)

    async def ban_failed(self, id_: int, error: str) -> None:
        """Ban a proxy that failed, unless it is banned already."""

        def work(connection: Connection) -> None:
            connection.execute(SQL.ban_failed, (id_, error, self._db.now(), FIRST_BAN_S, LONGEST_BAN_S))

        await self._db.write(work)

    async def ban(self, id_: int, for_s: float, *, actor: str) -> ProxyRecord:
        """Ban a proxy for a time; 0 ends its ban."""

        def work(connection: Connection) -> ProxyRecord:
            _get(connection, id_)
            now = self._db.now()
            error = f"banned by {actor}" if for_s else ""
            connection.execute(SQL.set_ban, (id_, now + for_s if for_s else 0.0, error))
            audit.write(connection, now, actor, "proxy.banned", f"proxy:{id_}", seconds=for_s)
            return _get(connection, id_)

        return await self._db.write(work)


def _get(connection: Connection, id_: int) -> ProxyRecord:
    found = rows(connection, SQL.proxy, (id_,))
    if not found:
        raise NotFound(f"there is no proxy {id_}", hint="`smartspider proxy list` shows all ids")
    return _proxy(found[0])


def _proxy(found: tuple[Any, ...]) -> ProxyRecord:
    names = ProxyRecord.__struct_fields__
    return ProxyRecord(**dict(zip(names, found, strict=True)))
