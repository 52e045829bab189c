"""Reading a page: its items, and the requests its links lead to."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import TooManyRedirects
from smartspider.core.events import ItemsRejected, LinksDropped, ValuesCleaned
from smartspider.core.page import Page
from smartspider.core.plan import Plan
from smartspider.core.redirects import redirect_target
from smartspider.core.request import Extras, Request, make_request
from smartspider.core.robots_meta import header_forbids_follow
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
        extraction = self._extractor.extract(page, request)
        if extraction.cleaned:
            self._bus.publish(ValuesCleaned(self._run_id, request.host, request.url, extraction.cleaned))
        if extraction.links_dropped:
            self._bus.publish(LinksDropped(self._run_id, request.host, request.url, extraction.links_dropped))
        if extraction.rejected:
            reason, count = extraction.rejected[0].reason, len(extraction.rejected)
            self._bus.publish(ItemsRejected(self._run_id, request.host, request.url, count, reason))
        found = Found([], [])
        if not header_forbids_follow(page.headers):
            found = self._links.children(extraction, request)
        return Reading(page, extraction.items, found.children, len(extraction.rejected), landed), found

    def _landed(self, page: Page, request: Request) -> Request | None:
        """The request that redirects on one host ended at, when it is not the one that was asked for."""
        if not page.hops:
            return None
        landed = self._redirected(request, page.url, Extras(meta=request.extras.meta))
        return landed if landed.fingerprint != request.fingerprint else None

    def _moved(self, page: Page, request: Request, target: str) -> Reading:
        """A redirect that was not followed: its target is a request of its own, or it is refused."""
        refusal = self._links.redirect_refusal(target, request)
        if refusal is not None:
            return Reading(page, refusal=f"redirected to {target}: {refusal}")
        hops = int(request.extras.meta.get("redirects", 0)) + 1
        if hops > self._plan.fetch.max_redirects:
            raise TooManyRedirects(f"more than {self._plan.fetch.max_redirects} redirects")
        extras = Extras(meta={**request.extras.meta, "redirects": hops})
        if page.status in (307, 308):
            extras = msgspec.structs.replace(extras, method=request.extras.method, body=request.extras.body)
        return Reading(page, children=[self._redirected(request, target, extras)], moved=True)

    def _redirected(self, request: Request, url: str, extras: Extras) -> Request:
        """The request that takes the place of one that was redirected."""
        return make_request(
            url,
            rules=self._plan.canonical,
            page=request.page,
            priority=request.priority,
            depth=request.depth,
            is_entry=request.is_entry,
            extras=extras,
        )
