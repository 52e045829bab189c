"""Reading a page: its items, and the requests its links lead to."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import TooManyRedirects
from smartspider.core.events import FieldsDropped, ItemsRejected, LinksDropped, ValuesCleaned
from smartspider.core.extraction import Extraction
from smartspider.core.page import Page
from smartspider.core.plan import Plan
from smartspider.core.redirects import redirect_target
from smartspider.core.request import Extras, Request, make_request
from smartspider.core.robots_meta import header_forbids_follow
from smartspider.engine.endings import is_too_old, without_next_pages
from smartspider.engine.links import Found, LinkFilter
from smartspider.engine.lookback import is_unchanged, validators_of
from smartspider.engine.verdicts import Reading
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.extractor import Extractor
from smartspider.interfaces.pipeline import Pipeline


class PageReader:
    """Turns an answer into a reading. Only good answers are extracted."""

    def __init__(
        self,
        run_id: int,
        plan: Plan,
        extractor: Extractor,
        pipeline: Pipeline | None,
        links: LinkFilter,
        *,
        bus: EventBus,
    ) -> None:
        self._run_id = run_id
        self._plan = plan
        self._extractor = extractor
        self._pipeline = pipeline
        self._links = links
        self._bus = bus

    def read(self, page: Page, request: Request) -> tuple[Reading, Found | None]:
        """Items and children of a page."""
        if not 200 <= page.status < 300:
            if is_unchanged(page, request):
                return Reading(page, is_unchanged=True), None
            target = redirect_target(page)
            return (Reading(page), None) if target is None else (self._moved(page, request, target), None)
        landed = self._landed(page, request)
        extraction = self._extractor.extract(page, request)
        if self._pipeline is not None:
            extraction = self._pipeline.treat(extraction, page)
        self._publish_losses(extraction, request)
        found = self._found(page, request, extraction)
        keys_of = self._plan.items.keys_of
        reading = Reading(
            page,
            extraction.items,
            keys=[keys_of(item) for item in extraction.items] if self._plan.items.keys else [],
            children=found.children,
            next_pages=found.next_pages,
            rejected=extraction.rejected,
            changes=extraction.changes,
            counts=extraction.counts,
            links=found.links,
            validators=validators_of(self._plan, page, request, extraction.items),
            landed=landed,
        )
        return reading, found

    def _publish_losses(self, extraction: Extraction, request: Request) -> None:
        """Tell what was found in the page and is not in its rows and links as it stood there."""
        where = (self._run_id, request.host, request.url)
        if extraction.cleaned:
            self._bus.publish(ValuesCleaned(*where, extraction.cleaned))
        if extraction.links_dropped:
            self._bus.publish(LinksDropped(*where, extraction.links_dropped))
        if extraction.uncarried:
            self._bus.publish(FieldsDropped(*where, extraction.uncarried))
        if extraction.rejected:
            self._bus.publish(ItemsRejected(*where, len(extraction.rejected), extraction.rejected[0].reason))

    def _found(self, page: Page, request: Request, extraction: Extraction) -> Found:
        """The requests the page leads to, as far as it may be followed and its list goes on."""
        page_plan = self._plan.pages.get(request.page)
        is_rules = page_plan is None or page_plan.kind == "rules"
        if is_rules and self._plan.politeness.obey_robots and header_forbids_follow(page.headers):
            return Found([], [])
        older = None if page_plan is None else page_plan.stop_when.older_than
        if older is not None and is_too_old(extraction, older, page.fetched_at):
            extraction = without_next_pages(extraction)
        return self._links.children(extraction, request)

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
