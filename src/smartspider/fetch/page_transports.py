"""One transport for each `fetch.mode` that the page types of a task name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request
from smartspider.core.runs.plan import FetchPlan
from smartspider.interfaces.fetcher import Fetcher, Permit, RunTransport, Transport, TransportContext
from smartspider.plugins.kinds import TRANSPORT
from smartspider.plugins.registry import resolve


@asynccontextmanager
async def open_transport(plan: FetchPlan, context: TransportContext) -> AsyncIterator[RunTransport]:
    """Open the transports of a run. Those of different modes share cookies, but no connections."""
    async with AsyncExitStack() as stack:
        opened: dict[str, Transport] = {}
        for mode in sorted(plan.modes):
            opened[mode] = await stack.enter_async_context(resolve(TRANSPORT, mode)(plan, context))
        main = opened[plan.mode]
        others = {name: opened[own.mode] for name, own in plan.pages.items() if own.mode != plan.mode}
        yield PageTransports(main, others) if others else main


class PageTransports:
    """Sends a request by the transport of its page type."""

    def __init__(self, main: Transport, pages: Mapping[str, Transport]) -> None:
        self._main = main
        self._pages = pages

    async def fetch(self, request: Request, permit: Permit) -> Page:
        """Return the response to a request."""
        return await self._pages.get(request.page, self._main).fetch(request, permit)

    def cut_at(self, max_bytes: int) -> Fetcher:
        """Return the fetcher of the main transport that truncates longer bodies."""
        return self._main.cut_at(max_bytes)
