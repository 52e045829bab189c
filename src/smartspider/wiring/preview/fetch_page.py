"""Fetch one URL with all fetch layers of a crawl; nothing is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from smartspider.core.errors import RequestInvalid, TooManyRedirects
from smartspider.core.pages.page import Page, redirect_target
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import make_request
from smartspider.core.requests.secrets import SecretValues
from smartspider.core.requests.urls import normal_url
from smartspider.core.runs.plan import FetchPlan
from smartspider.engine.runtime import SystemClock
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.page_transports import open_transport
from smartspider.fetch.stack import build_fetcher, build_robots
from smartspider.installation.settings import Settings, read_settings
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Permit, TransportContext
from smartspider.interfaces.robots_cache import RobotsAnswer, RobotsCache
from smartspider.wiring.worker import choose_proxy


class SpacedPermit:
    """A permit without a store: requests of one command to a host are one default delay apart."""

    def __init__(self, clock: Clock, last_sent: dict[str, float], host: str) -> None:
        self._clock = clock
        self._last_sent = last_sent
        self._host = host

    async def approach(self) -> None:
        """Return at once: the delay is short, so a connection may be opened now."""

    async def enter(self) -> None:
        """Wait until a delay has passed since the last request to the host."""
        last = self._last_sent.get(self._host)
        if last is not None:
            await self._clock.sleep(max(0.0, last + PolitenessPolicy().delay_s - self._clock.monotonic()))

    def sent(self) -> None:
        """Start the delay."""
        self._last_sent[self._host] = self._clock.monotonic()

    def another(self, host: str) -> SpacedPermit:
        """Return a permit for another request."""
        return SpacedPermit(self._clock, self._last_sent, host)


class CommandRobotsCache:
    """The robots.txt answers of one command."""

    def __init__(self) -> None:
        self._answers: dict[str, RobotsAnswer] = {}

    async def get_robots(self, origin: str) -> RobotsAnswer | None:
        """Return the answer of an origin."""
        return self._answers.get(origin)

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:  # noqa: ARG002 - part of the interface
        """Keep an answer; the default delay applies."""
        self._answers[answer.origin] = answer


async def fetch_page(url: str, *, obey_robots: bool) -> Page:
    """Fetch a URL given on the command line; its private address is allowed."""
    return await command_fetcher(url, obey_robots=obey_robots)(url)


def command_fetcher(url: str, *, obey_robots: bool) -> Callable[[str], Awaitable[Page]]:
    """Return a function that fetches pages for one command, which was given a URL: politely, and robots.txt
    once. The private address of the URL is allowed.
    """
    settings, clock, last_sent = read_settings(), SystemClock(), dict[str, float]()
    normal = check_url(url)
    policy = AddressPolicy.parse(settings.allow_private, [normal])

    def permit_for(host: str) -> SpacedPermit:
        return SpacedPermit(clock, last_sent, host)

    robots = CommandRobotsCache() if obey_robots else None
    trust = OriginTrust([normal])
    return partial(fetch_with, FetchContext(settings, policy, clock, permit_for, robots, trust=trust))


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
    trust = context.trust or OriginTrust([normal], named=plan.send_secrets_to)
    headers = HeaderPlan(plan, context.settings.contact or None, trust=trust)
    request = make_request(normal)
    transport_context = TransportContext(context.clock, context.policy, choose_proxy(context.settings))
    async with open_transport(plan, transport_context) as transport:
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
        )
        page = await fetcher.fetch(request, context.permit_for(request.host))
        hops = list(page.hops)
        while (target := redirect_target(page)) is not None:
            if len(hops) >= plan.max_redirects:
                raise TooManyRedirects(f"{normal} redirects more than {plan.max_redirects} times")
            hops.append(page.url)
            request = make_request(target)
            page = await fetcher.fetch(request, context.permit_for(request.host))
            hops += page.hops
        return msgspec.structs.replace(page, hops=tuple(hops))
