"""One transport for each `fetch.mode` that the page types of a task name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import ROBOTS_PAGE, ROBOTS_RULES_PAGE, TOKEN_PAGE
from smartspider.core.runs.plan import HTTP, FetchPlan
from smartspider.fetch.robots_file import MAX_BYTES
from smartspider.interfaces.fetcher import Exchange, Fetcher, Transport, TransportContext
from smartspider.plugins.kinds import TRANSPORT
from smartspider.plugins.registry import resolve

MAX_TOKEN_BYTES = 1_000_000
"""The largest answer that a token is read from."""


@asynccontextmanager
async def open_transport(plan: FetchPlan, context: TransportContext) -> AsyncIterator[Fetcher]:
    """Open the transports of a run: one per mode, without common connections. robots.txt and tokens go over
    plain HTTP whatever the mode, with size limits of their own; robots.txt is cut at its limit.
    """
    robots = msgspec.structs.replace(plan, mode=HTTP, max_bytes=MAX_BYTES, truncates=True, pages={})
    token = msgspec.structs.replace(plan, mode=HTTP, max_bytes=MAX_TOKEN_BYTES, pages={})
    plan = msgspec.structs.replace(plan, pages={**plan.pages, ROBOTS_RULES_PAGE: robots, TOKEN_PAGE: token})
    modes = {name: own.mode for name, own in plan.pages.items()} | {ROBOTS_PAGE: HTTP}
    async with AsyncExitStack() as stack:
        opened: dict[str, Transport] = {}
        for mode in sorted(plan.modes):
            opened[mode] = await stack.enter_async_context(resolve(TRANSPORT, mode)(plan, context))
        others = {name: opened[mode] for name, mode in modes.items() if mode != plan.mode}
        yield PageTransports(opened[plan.mode], others) if others else opened[plan.mode]


class PageTransports:
    """Sends a request by the transport of its page type."""

    def __init__(self, main: Fetcher, pages: Mapping[str, Fetcher]) -> None:
        self._main = main
        self._pages = pages

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the response to a request."""
        return await self._pages.get(exchange.request.page, self._main).fetch(exchange)
