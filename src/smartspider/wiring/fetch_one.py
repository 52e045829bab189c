"""Fetching one URL with all layers of a crawl, and nothing kept."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import TaskInvalid, TooManyRedirects
from smartspider.core.page import Page
from smartspider.core.plan import FetchPlan
from smartspider.core.politeness import Politeness
from smartspider.core.redirects import redirect_target
from smartspider.core.request import make_request
from smartspider.core.urls import normal_url
from smartspider.engine.clock import SystemClock
from smartspider.fetch.addresses import AddressPolicy
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.stack import build_fetcher, build_robots
from smartspider.fetch.transport import AiohttpTransport
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.wiring.settings import read_settings
from smartspider.wiring.worker import choose_proxy


class SpacedPermit:
    """A permit without a store: requests of one command to one host keep the default delay."""

    def __init__(self, clock: Clock, last_sent: dict[str, float], host: str) -> None:
        self._clock = clock
        self._last_sent = last_sent
        self._host = host

    async def approach(self) -> None:
        """The delay is short, so a connection may be opened at once."""

    async def enter(self) -> None:
        """Wait until a delay has passed since the last request to the host."""
        last = self._last_sent.get(self._host)
        if last is not None:
            await self._clock.sleep(max(0.0, last + Politeness().delay_s - self._clock.monotonic()))

    def sent(self) -> None:
        """From now on the delay counts."""
        self._last_sent[self._host] = self._clock.monotonic()

    def another(self, host: str) -> SpacedPermit:
        """A permit for one more request."""
        return SpacedPermit(self._clock, self._last_sent, host)


class NoRobotsCache:
    """Keeps no robots.txt beyond the command."""

    async def get_robots(self, origin: str) -> RobotsAnswer | None:  # noqa: ARG002 - part of the interface
        """Nothing is known."""
        return None

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:
        """Nothing is kept."""


async def fetch_one(url: str, *, obey_robots: bool) -> Page:
    """The page for a URL."""
    normal = normal_url(url)
    if normal is None:
        raise TaskInvalid(
            f"{url!r} is not an http or https URL", hint="write it with its scheme: https://..."
        )
    settings, clock, plan = read_settings(), SystemClock(), FetchPlan()
    policy = AddressPolicy.parse(settings.allow_private, [normal])
    headers = HeaderPlan(plan, settings.contact or None)
    request = make_request(normal)
    proxy = choose_proxy(settings)
    async with AiohttpTransport(plan, policy=policy, clock=clock, choose_proxy=proxy) as transport:
        robots = None
        if obey_robots:
            robots = build_robots(
                transport, policy=policy, headers=headers, cache=NoRobotsCache(), clock=clock
            )
        fetcher = build_fetcher(plan, transport, policy=policy, headers=headers, robots=robots)
        permit = SpacedPermit(clock, {}, request.host)
        page = await fetcher.fetch(request, permit)
        hops = list(page.hops)
        while (target := redirect_target(page)) is not None:
            if len(hops) >= plan.max_redirects:
                raise TooManyRedirects(f"{normal} redirects more than {plan.max_redirects} times")
            hops.append(page.url)
            request = make_request(target)
            page = await fetcher.fetch(request, permit.another(request.host))
            hops += page.hops
        return msgspec.structs.replace(page, hops=tuple(hops))
