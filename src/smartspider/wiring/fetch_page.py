"""Fetch one URL with all fetch layers of a crawl; nothing is stored."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from smartspider.core.cookies.jar import CookieJar
from smartspider.core.errors import FetchFailed, NotBuilt, RequestInvalid, TooManyRedirects
from smartspider.core.pages.page import Page, redirect_target
from smartspider.core.plurals import count
from smartspider.core.redaction.redactor import Redactor, without_userinfo
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.requests.request import DEFAULT_PAGE, make_request
from smartspider.core.requests.secrets import SecretValues
from smartspider.core.requests.urls import normal_url
from smartspider.core.runs.plan import FetchPlan, Plan
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.layers import LayerContext, PageLayers, compile_layers, layers_around
from smartspider.fetch.page_transports import open_transport
from smartspider.fetch.stack import build_fetcher, build_robots
from smartspider.installation.settings import Settings
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Cookies, Exchange, Fetcher, FetchSession, Permit, TransportContext
from smartspider.interfaces.robots_cache import RobotsCache
from smartspider.wiring.worker import proxy_of_settings


class FetchContext(msgspec.Struct, frozen=True):
    """Settings, address policy and permits of a fetch."""

    settings: Settings
    policy: AddressPolicy
    clock: Clock
    permit_for: Callable[[str], Permit]
    robots: RobotsCache | None
    """None: robots.txt is ignored."""
    secrets: SecretValues = {}
    trust: OriginTrust | None = None
    """Where secrets may be sent; None: to the origin of each URL that is fetched."""
    layers: PageLayers = {}
    """Layers of page type `default`, which every page that is fetched has."""
    cookies: Cookies | None = None
    """Cookies of the vault; None: those that sites set."""
    report: Callable[[str], object] | None = None
    """Called with a line about each request."""


class ReportedTransport:
    """A transport that reports each exchange in a line."""

    def __init__(self, inner: Fetcher, report: Callable[[str], object], redact: Callable[[str], str]) -> None:
        self._inner = inner
        self._report = report
        self._redact = redact

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the response to a request."""
        request = exchange.request
        what = f"{request.extras.method} {self._redact(without_userinfo(request.url))}"
        try:
            page = await self._inner.fetch(exchange)
        except FetchFailed as error:
            self._report(f"{what}: {error.code}")
            raise
        self._report(f"{what}: {page.status}, {count(len(page.body), 'byte')}, {page.elapsed_s:.3f} s")
        return page


def entry_layers(plan: Plan, secrets: SecretValues) -> PageLayers:
    """Return the layers of the entry of a plan, for a fetch of it alone."""
    found = compile_layers(plan.layers, plan.pages, secrets, plan.trust).get(plan.entries[0].page)
    return {DEFAULT_PAGE: found} if found else {}


def check_url(url: str) -> str:
    """Return a URL in its normal form; raise `RequestInvalid` if it is not an HTTP URL."""
    normal = normal_url(url)
    if normal is None:
        raise RequestInvalid(
            f"{url!r} is not an http or https URL", hint="write it with its scheme: https://..."
        )
    return normal


async def fetch_with(context: FetchContext, url: str, plan: FetchPlan = FetchPlan()) -> Page:
    """Fetch a URL and follow redirects."""
    normal = check_url(url)
    if plan.proxy_pools:
        raise NotBuilt(
            "a single page is not fetched through a pool", hint="set SMARTSPIDER_PROXY, or crawl it"
        )
    trust = context.trust or OriginTrust([normal], named=plan.send_secrets_to)
    headers = HeaderPlan(plan, context.settings.contact or None, trust=trust)
    around = LayerContext(context.clock, context.settings.watch.stall_s, trust)
    request = make_request(normal)
    cookies = context.cookies or (CookieJar(context.clock.now) if plan.cookies else None)
    session = FetchSession(cookies, proxy_of_settings(context.settings))
    async with open_transport(plan, TransportContext(context.clock, context.policy)) as opened:
        transport: Fetcher = opened
        if context.report is not None:
            redact = Redactor(context.secrets.values()).text if context.secrets else str
            transport = ReportedTransport(opened, context.report, redact)
        robots = None
        if context.robots is not None:
            robots = build_robots(
                transport, policy=context.policy, headers=headers, cache=context.robots, clock=context.clock
            )
        fetcher = build_fetcher(
            plan,
            transport,
            policy=context.policy,
            headers=headers,
            robots=robots,
            secrets=context.secrets,
            layers=layers_around(context.layers, plan, around),
        )
        page = await fetcher.fetch(Exchange(request, context.permit_for(request.host), session))
        hops = list(page.hops)
        while (target := redirect_target(page)) is not None:
            if len(hops) >= plan.max_redirects:
                raise TooManyRedirects(f"{normal} redirects more than {plan.max_redirects} times")
            hops.append(page.url)
            request = make_request(target)
            page = await fetcher.fetch(Exchange(request, context.permit_for(request.host), session))
            hops += page.hops
        return msgspec.structs.replace(page, hops=tuple(hops))
