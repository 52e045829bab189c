"""The layer that asks robots.txt before every request."""

from __future__ import annotations

from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request
from smartspider.fetch.robots_rules import RobotsRules
from smartspider.interfaces.fetcher import Fetcher, Permit


class RobotsLayer:
    """Lets through what robots.txt allows. It stands inside the redirects, so every hop is asked for."""

    def __init__(self, inner: Fetcher, rules: RobotsRules) -> None:
        self._inner = inner
        self._rules = rules

    async def fetch(self, request: Request, permit: Permit) -> Page:
        """The page, or `RobotsDisallowed`, or `RobotsUnavailable`."""
        if not self._rules.allowed_if_known(request.url):
            await self._rules.check(request.url, permit)
        return await self._inner.fetch(request, permit)
