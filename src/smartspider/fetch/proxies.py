"""The proxies of a run in a worker: which one a request goes through, and whom its failure is blamed on."""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from urllib.parse import unquote

from smartspider.core.errors import (
    ConnectFailed,
    FetchFailed,
    NoProxy,
    PoolFailed,
    ProxyFailed,
    ProxyRefused,
    ProxyRetry,
    StoreUnavailable,
)
from smartspider.core.proxies import ProxyRecord
from smartspider.core.requests.request import Request
from smartspider.core.runs.plan import FetchPlan
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Proxies, Proxy
from smartspider.store.proxies import FIRST_BAN_S, ProxyReport, ProxyStore

FRESH_S = 0.5
"""News of other workers are read before a request is sent, unless it was this recently."""
KNOWN_URLS = 10_000
"""URLs whose failed proxies are remembered."""
LEAST_SUCCESS = 0.2
"""A proxy that failed all its requests is tried again after its ban."""
USUAL_LATENCY_S = 0.5
LEAST_LATENCY_S = 0.01
EMPTY_WAIT_S = 5.0

OpenUrls = Callable[[Collection[int]], Awaitable[dict[int, str]]]
"""Returns the URLs of proxies by id."""


class OneProxy:
    """See `Proxies`: the same proxy for all requests, whose failures are its own."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def choose(self, request: Request) -> Proxy | None:  # noqa: ARG002 - the same for all
        """Return the proxy."""
        return self._proxy

    async def worked(self, request: Request, proxy: Proxy, elapsed_s: float) -> None:
        """Do nothing."""

    async def failed(self, request: Request, proxy: Proxy, error: FetchFailed) -> FetchFailed:  # noqa: ARG002
        """Return the error as it is."""
        return error


class PooledProxies:
    """See `Proxies`: those of the pool that a page type names, or else of the settings."""

    def __init__(self, plan: FetchPlan, pools: Mapping[str, ProxyPool], default: Proxies | None) -> None:
        self._plan, self._pools, self._default = plan, pools, default

    async def choose(self, request: Request) -> Proxy | None:
        """Return a proxy of the request's pool."""
        proxies = self._of(request)
        return None if proxies is None else await proxies.choose(request)

    async def worked(self, request: Request, proxy: Proxy, elapsed_s: float) -> None:
        """Note that an answer came through a proxy."""
        if (proxies := self._of(request)) is not None:
            await proxies.worked(request, proxy, elapsed_s)

    async def failed(self, request: Request, proxy: Proxy, error: FetchFailed) -> FetchFailed:
        """Return the error that names the culprit."""
        proxies = self._of(request)
        return error if proxies is None else await proxies.failed(request, proxy, error)

    def _of(self, request: Request) -> Proxies | None:
        pool = self._plan.of_page(request.page).proxy_pool
        return self._pools[pool] if pool else self._default


class ProxyPool:
    """See `Proxies`. Reads the pool and reports to it at most every `FRESH_S`, and only while requests are
    sent; a ban is stored at once. While the store is unavailable, what is known remains in use.
    """

    def __init__(
        self,
        name: str,
        store: ProxyStore,
        open_urls: OpenUrls,
        clock: Clock,
        *,
        redact: Callable[..., object] | None = None,
        draw: random.Random | None = None,
    ) -> None:
        self._name, self._store, self._open_urls, self._clock = name, store, open_urls, clock
        self._redact = redact
        self._random = draw or random.Random()  # noqa: S311 - spreads requests
        self._records: dict[int, ProxyRecord] = {}
        self._urls: dict[int, str] = {}
        self._banned_until: dict[int, float] = {}
        self._tried: OrderedDict[str, dict[int, str]] = OrderedDict()
        """Why proxies failed, by URL."""
        self._refused: dict[str, dict[int, str]] = {}
        """The proxies among them that reported a failure of the host."""
        self._reports: dict[int, list[float | None]] = {}
        self._fresh_until = float("-inf")
        self._loading = asyncio.Lock()

    async def choose(self, request: Request) -> Proxy:
        """Return a proxy that did not fail for the URL: at random, by weight, success and latency."""
        await self._refresh()
        if self._records and not self._records.keys() - self._tried.get(request.url, {}).keys():
            self._forget(request.url)  # the others were removed from the pool meanwhile
        now, tried = self._clock.now(), self._tried.get(request.url, {})
        untried = [one for one in self._records.values() if one.id not in tried and one.id in self._urls]
        free = [one for one in untried if self._banned_until.get(one.id, 0.0) <= now]
        if not free:
            end_at = min((self._banned_until.get(one.id, now) for one in untried), default=now + EMPTY_WAIT_S)
            what = "all its proxies are banned" if untried else "it has no proxy"
            error = NoProxy(f"{request.url}: no proxy of the pool {self._name} is free: {what}")
            error.wait_s = max(end_at - now, FRESH_S)
            raise error
        (chosen,) = self._random.choices(free, [_share(one) for one in free])
        return Proxy(self._urls[chosen.id], chosen.id)

    async def worked(self, request: Request, proxy: Proxy, elapsed_s: float) -> None:
        """Note an answer; proxies that reported that its host failed were wrong."""
        self._reports.setdefault(proxy.id, []).append(elapsed_s)
        self._tried.pop(request.url, None)
        for id_, error in self._refused.pop(request.url, {}).items():
            await self._ban(id_, error)

    async def failed(self, request: Request, proxy: Proxy, error: FetchFailed) -> FetchFailed:
        """Blame the proxy, unless it reached the host or two proxies report that it failed."""
        if not isinstance(error, ProxyFailed):
            return error
        tried = self._tried.setdefault(request.url, {})
        tried[proxy.id] = error.message
        if len(self._tried) > KNOWN_URLS:
            oldest, _ = self._tried.popitem(last=False)
            self._refused.pop(oldest, None)
        if isinstance(error, ProxyRefused):
            refused = self._refused.setdefault(request.url, {})
            refused[proxy.id] = error.message
            if len(refused) > 1:
                self._forget(request.url)
                reporters = " and ".join(f"proxy {id_}" for id_ in refused)
                return ConnectFailed(f"{error.message}, as {reporters} report")
        else:
            self._reports.setdefault(proxy.id, []).append(None)
            await self._ban(proxy.id, error.message)
        if self._records.keys() - tried.keys():
            return ProxyRetry(f"proxy {proxy.id}: {error.message}")
        self._forget(request.url)
        names = "; ".join(
            f"proxy {id_}: {reason.removeprefix(request.url + ': ')}" for id_, reason in tried.items()
        )
        if len(tried) == 1 and isinstance(error, ProxyRefused):
            return ConnectFailed(f"{request.url}: {names}")
        return PoolFailed(f"{request.url}: each proxy of the pool {self._name} failed: {names}")

    async def flush(self) -> None:
        """Store what was counted."""
        reports, self._reports = self._reports, {}
        if reports:
            try:
                await self._store.report([_report(id_, found) for id_, found in reports.items()])
            except StoreUnavailable:
                for id_, found in self._reports.items():
                    reports.setdefault(id_, []).extend(found)
                self._reports = reports

    async def _ban(self, id_: int, error: str) -> None:
        now = self._clock.now()
        self._banned_until[id_] = max(self._banned_until.get(id_, 0.0), now + FIRST_BAN_S)
        try:
            await self._store.ban_failed(id_, error)
        except StoreUnavailable:
            return  # banned here, and elsewhere as soon as it fails there
        self._fresh_until = float("-inf")

    async def _refresh(self) -> None:
        if self._clock.monotonic() < self._fresh_until:
            return
        async with self._loading:
            if self._clock.monotonic() < self._fresh_until:
                return
            await self.flush()
            try:
                found = await self._store.find(pool=self._name)
                new = {one.id for one in found} - self._urls.keys()
                opened = await self._open_urls(new) if new else {}
            except StoreUnavailable:
                if not self._urls:
                    raise
            else:
                self._take(found, opened)
            self._fresh_until = self._clock.monotonic() + FRESH_S

    def _take(self, found: list[ProxyRecord], opened: dict[int, str]) -> None:
        self._records = {one.id: one for one in found}
        self._banned_until = {one.id: one.banned_until for one in found}
        self._urls = {id_: url for id_, url in (self._urls | opened).items() if id_ in self._records}
        if self._redact is not None:
            for userinfo in (url.partition("://")[2].rpartition("@")[0] for url in opened.values()):
                password = userinfo.partition(":")[2]
                self._redact(*(text for text in (userinfo, password, unquote(password)) if text))

    def _forget(self, url: str) -> None:
        self._tried.pop(url, None)
        self._refused.pop(url, None)


def _share(proxy: ProxyRecord) -> float:
    latency_s = USUAL_LATENCY_S if proxy.latency_s is None else max(proxy.latency_s, LEAST_LATENCY_S)
    share: float = proxy.weight * max(proxy.success, LEAST_SUCCESS) ** 3 / latency_s
    return share


def _report(id_: int, found: list[float | None]) -> ProxyReport:
    worked = [elapsed_s for elapsed_s in found if elapsed_s is not None]
    latency_s = sum(worked) / len(worked) if worked else None
    return ProxyReport(id_, len(found), len(found) - len(worked), latency_s)
