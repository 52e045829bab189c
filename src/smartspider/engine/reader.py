"""Reading a page: its items, and the requests its links lead to."""

from __future__ import annotations

from smartspider.core.errors import TooManyRedirects
from smartspider.core.events import ValuesCleaned
from smartspider.core.page import Page
from smartspider.core.plan import Plan
from smartspider.core.redirects import redirect_target
from smartspider.core.request import Request, make_request
from smartspider.core.robots_meta import header_forbids_follow
from smartspider.core.urls import host_of
from smartspider.engine.links import Found, LinkFilter
from smartspider.engine.verdicts import Reading
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.extractor import Extractor


class PageReader:
    """Turns an answer into a reading. Only good answers are extracted."""

    def __init__(
        self, run_id: int, plan: Plan, extractor: Extractor, links: LinkFilter, bus: EventBus
    ) -> None:
        self._run_id = run_id
        self._plan = plan
        self._extractor = extractor
        self._links = links
        self._bus = bus

    def read(self, page: Page, request: Request) -> tuple[Reading, Found | None]:
        """Items and children of a page."""
        if not 200 <= page.status < 300:
            target = redirect_target(page)
            return (Reading(page), None) if target is None else (self._moved(page, request, target), None)
        landed = self._landed(page, request)
        if landed is not None and not request.is_entry:
            refusal = self._links.refusal(page.url, request.host)
            if refusal is not None:
                return Reading(page, refusal=f"redirected to {page.url}: {refusal}"), None
        extraction = self._extractor.extract(page, request)
        if extraction.cleaned:
            self._bus.publish(ValuesCleaned(self._run_id, request.host, request.url, extraction.cleaned))
        found = Found([], [])
        if not header_forbids_follow(page.headers):
            found = self._links.children(extraction, request)
        return Reading(page, extraction.items, found.children, len(extraction.rejected), landed), found

    def _landed(self, page: Page, request: Request) -> Request | None:
        """The request that redirects on one host ended at, when it is not the one that was asked for."""
        if not page.hops:
            return None
        landed = make_request(
            page.url,
            rules=self._plan.canonical,
            page=request.page,
            priority=request.priority,
            depth=request.depth,
            is_entry=request.is_entry,
            extras=type(request.extras)(meta=request.extras.meta),
        )
        return landed if landed.fingerprint != request.fingerprint else None

    def _moved(self, page: Page, request: Request, target: str) -> Reading:
        """A redirect to another host: its target is a request of its own, with its own gate."""
        if not request.is_entry:
            refusal = self._links.refusal(target, host_of(page.url))
            if refusal is not None:
                return Reading(page, refusal=f"redirected to {target}: {refusal}")
        hops = int(request.extras.meta.get("redirects", 0)) + 1
        if hops > self._plan.fetch.max_redirects:
            raise TooManyRedirects(f"more than {self._plan.fetch.max_redirects} redirects")
        child = make_request(
            target,
            rules=self._plan.canonical,
            page=request.page,
            priority=request.priority,
            depth=request.depth,
            is_entry=request.is_entry,
            extras=type(request.extras)(meta={**request.extras.meta, "redirects": hops}),
        )
        return Reading(page, children=[child], moved=True)
