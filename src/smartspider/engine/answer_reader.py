"""Read an answer: its items, and the requests its links lead to; with a time limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from smartspider.core.datetimes import parse_iso_datetime
from smartspider.core.errors import NotReadable, TooManyRedirects, Unreadable
from smartspider.core.events import FieldsDropped, ItemsRejected, LinksDropped, ValuesCleaned
from smartspider.core.frontier.verdict import Close, ClosedState, Validators
from smartspider.core.pages.expectations import Expectations, is_last
from smartspider.core.pages.extraction import LINKS_OVERFLOW, Extraction, Item
from smartspider.core.pages.files import FILE_PAGE, FileOutcome, FilePlan
from smartspider.core.pages.list_digest import ListDigests
from smartspider.core.pages.page import Page, header_forbids_follow, redirect_target
from smartspider.core.pages.rules import DateCutoff
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.requests.recrawl import PageVersion, page_version
from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.request import Extras, Request, content_fingerprint, make_request
from smartspider.core.requests.request_headers import only_content, require_open_body, without_content
from smartspider.core.runs.plan import Plan
from smartspider.core.workers import activity
from smartspider.core.workers.time_limit import TimeLimit, TookTooLong
from smartspider.engine.file_requests import FileStore, request_files
from smartspider.engine.link_filter import ChildRequests, LinkFilter
from smartspider.engine.processor import Reader
from smartspider.engine.retry_or_close import Reading
from smartspider.interfaces.event_bus import EventBus
from smartspider.interfaces.extractor import Extractor, Pipeline

HEADER_NOFOLLOW = Refusal("nofollow", "nofollow: the page says so (X-Robots-Tag)")
TOO_OLD = Refusal("stop_when", "stop_when.older_than: all dated items of the page are older")


class AnswerReader:
    """Turns an answer into a reading. Only 2xx answers are extracted."""

    def __init__(
        self,
        run_id: int,
        plan: Plan,
        extractor: Extractor,
        pipeline: Pipeline | None,
        links: LinkFilter,
        *,
        bus: EventBus,
        files: FileStore | None = None,
    ) -> None:
        self._run_id = run_id
        self._plan = plan
        self._extractor = extractor
        self._pipeline = pipeline
        self._links = links
        self._bus = bus
        self._files = files
        self._trust = OriginTrust((), named=plan.fetch.send_secrets_to)
        self._expected = {name: Expectations(page) for name, page in plan.pages.items()}
        self._digests = {name: ListDigests(page) for name, page in plan.pages.items() if page.pagination}

    def read(self, page: Page, request: Request) -> Reading:
        """Return the items and children of a page."""
        if not 200 <= page.status < 300 or page.refresh is not None:
            if is_unchanged(page, request):
                return Reading(page, Close("done", "not modified", page.status, is_unchanged=True))
            target = redirect_target(page)
            return Reading(page, None if target is None else self._redirect(page, request, target))
        landed = self._landed(page, request)
        plan = self._plan.pages.get(request.page)
        if plan is not None and plan.file is not None:
            return Reading(page, self._store_file(page, plan.file, landed))
        sent = as_sent(page, request)
        expected = self._expected.get(request.page)
        if expected is None or expected.check_content(page, request):
            extraction = self._extractor.extract(page, sent)
        else:
            extraction = Extraction([], [], page.url)
        if self._pipeline is not None:
            activity.enter(activity.STEPS)
            extraction = self._pipeline.process(extraction, page)
        if self._files is not None:
            extraction = request_files(extraction, request, self._plan.canonical)
        self._publish_losses(extraction, request)
        activity.enter(activity.LINKS)
        found = self._find_children(page, sent, extraction)
        if expected is not None:
            expected.check_signed_in(page, request, extraction, found.children)
        keys_of = self._plan.items.keys_of
        digests = self._digests.get(request.page)
        close = Close(
            "done" if landed is None else "redirect",
            status=page.status,
            items=extraction.items,
            keys=[keys_of(item) for item in extraction.items] if self._plan.items.keys else [],
            children=found.children,
            next_pages=found.next_pages,
            links=found.links,
            rejected=extraction.rejected,
            changes=extraction.changes,
            counts=extraction.counts,
            validators=validators_of(self._plan, page, request, extraction.items),
            landed=landed,
            left_out=list(found.left_out.values()),
            links_dropped=max(extraction.links_dropped - LINKS_OVERFLOW, 0),
            brought=None if expected is None else expected.brought(extraction),
            has_undecodable=extraction.has_undecodable,
            list_digest=digests.digest(extraction, page.body) if digests is not None else b"",
        )
        if expected is not None and expected.lacks_items(request, extraction):
            return _without_items(Reading(page, close, found), expected, extraction)
        return Reading(page, close, found)

    def _store_file(self, page: Page, plan: FilePlan, landed: Request | None) -> Close:
        """Store the body as a file."""
        if self._files is None:
            raise NotReadable("files are not downloaded here")
        outcome = FileOutcome(self._files.put(page, plan))
        state: ClosedState = "done" if landed is None else "redirect"
        return Close(state, status=page.status, landed=landed, outcome=outcome)

    def _publish_losses(self, extraction: Extraction, request: Request) -> None:
        """Publish events about values, links and items of the page that are not stored unchanged."""
        where = (self._run_id, request.host, request.url)
        if extraction.cleaned:
            self._bus.publish(ValuesCleaned(*where, extraction.cleaned))
        if extraction.links_dropped:
            self._bus.publish(LinksDropped(*where, extraction.links_dropped))
        if extraction.carries_dropped:
            self._bus.publish(FieldsDropped(*where, extraction.carries_dropped))
        if extraction.rejected:
            self._bus.publish(ItemsRejected(*where, len(extraction.rejected), extraction.rejected[0].reason))

    def _find_children(self, page: Page, request: Request, extraction: Extraction) -> ChildRequests:
        """Return the child requests; links that robots directives or a date cutoff exclude are left out."""
        page_plan = self._plan.pages.get(request.page)
        is_rules = page_plan is None or page_plan.kind == "rules"
        if is_rules and self._plan.politeness.obey_robots and header_forbids_follow(page.headers):
            extraction = msgspec.structs.replace(extraction, refusal=HEADER_NOFOLLOW)
        older = None if page_plan is None else page_plan.stop_when.older_than
        if older is not None and is_list_too_old(extraction, older, page.fetched_at):
            extraction = refuse_next_pages(extraction, TOO_OLD)
        return self._links.children(extraction, request)

    def _landed(self, page: Page, request: Request) -> Request | None:
        """Return the request at the end of redirects on one host, unless it is the same request."""
        if not page.hops:
            return None
        sent = as_sent(page, request).extras
        extras = Extras(sent.method, body=sent.body, meta=sent.meta, variant=sent.variant)
        landed = self._redirected(request, page.url, extras)
        return landed if landed.fingerprint != request.fingerprint else None

    def _redirect(self, page: Page, request: Request, target: str) -> Close:
        """Close a redirect that was not followed: its target becomes a request of its own, or is refused."""
        refusal = self._links.redirect_refusal(target, request)
        if refusal is not None:
            reason = f"redirected to {target}: {refusal.detail}"
            return Close("skipped", reason, page.status, cause=refusal.code)
        hops = int(request.extras.meta.get("redirects", 0)) + 1
        if hops > self._plan.fetch.max_redirects:
            raise TooManyRedirects(f"more than {self._plan.fetch.max_redirects} redirects")
        own = as_sent(page, request).extras
        goes_on = self._trust.goes_on(request.url, target)
        extras = Extras(meta={**own.meta, "redirects": hops}, variant=own.variant)
        if page.status in (307, 308):
            if not goes_on:
                require_open_body(own.body, target)
            extras = msgspec.structs.replace(
                extras, method=own.method, headers=only_content(own.headers), body=own.body
            )
        if goes_on:
            headers = own.headers if extras.body is not None else without_content(own.headers)
            extras = msgspec.structs.replace(extras, headers=headers)
        child = self._redirected(request, target, extras)
        outcome = FileOutcome(target=child.fingerprint) if request.page.startswith(FILE_PAGE) else None
        return Close("redirect", f"to {child.url}", page.status, children=[child], outcome=outcome)

    def _redirected(self, request: Request, url: str, extras: Extras) -> Request:
        """Return the request that replaces a redirected one."""
        return make_request(
            url,
            rules=self._plan.canonical,
            page=request.page,
            priority=request.priority,
            depth=request.depth,
            is_entry=request.is_entry,
            extras=extras,
        )


def _without_items(reading: Reading, expected: Expectations, extraction: Extraction) -> Reading:
    """Return the reading of a page of a list without items: it is fetched again first. A page that a link
    promised, and that leads nowhere, is lost; in the middle of a list it is stored, and marked.
    """
    assert reading.close is not None  # noqa: S101 - the page was read
    close, reason = reading.close, "no items on a next page"
    if expected.is_promised and is_last(extraction) and not expected.ends_empty:
        lost = Close("dead", f"{reason}, tried twice", close.status, cause="no_items")
        return msgspec.structs.replace(reading, close=lost, children=None, doubt=reason)
    if not expected.ends_empty:
        close = msgspec.structs.replace(close, reason=f"{reason}, tried twice", cause="no_items")
    return msgspec.structs.replace(reading, close=close, doubt=reason)


_encode = msgspec.json.Encoder().encode


def as_sent(page: Page, request: Request) -> Request:
    """Return the request as the page at the end of its redirects was requested: a form that was sent before
    a redirect is not sent again.
    """
    if not page.became_get:
        return request
    own = request.extras
    extras = Extras(headers=without_content(own.headers), meta=own.meta, variant=own.variant)
    return msgspec.structs.replace(request, extras=extras)


def is_unchanged(page: Page, request: Request) -> bool:
    """Return whether the server answers that the page is still the stored version."""
    return page.status == 304 and request.extras.version is not None and not page.hops


def validators_of(plan: Plan, page: Page, request: Request, items: list[Item]) -> Validators | None:
    """Return what a later run compares the page with and sends in a conditional request; None if the task
    does not recrawl.

    The content is the items if the page type has fields, else the body.
    """
    if not plan.recrawl.needs_history:
        return None
    page_plan = plan.pages.get(request.page)
    has_fields = page_plan is not None and bool(page_plan.fields)
    content = content_fingerprint(_encode(items) if has_fields else page.body)
    is_asked_for = plan.recrawl.conditional and page.status == 200 and request.extras.method == "GET"
    return Validators(content, page_version(page.headers) if is_asked_for else PageVersion())


def refuse_next_pages(extraction: Extraction, refusal: Refusal) -> Extraction:
    """Return the extraction with its links to next pages refused."""
    links = [
        msgspec.structs.replace(link, refusal=refusal) if link.is_pagination else link
        for link in extraction.links
    ]
    return msgspec.structs.replace(extraction, links=links)


def is_list_too_old(extraction: Extraction, older: DateCutoff, now: float) -> bool:
    """Return whether the page has dates, all older than the cutoff. Rejected items count too."""
    limit = older.moment if older.age_s is None else now - older.age_s
    moments = list(_moments(extraction, older.field))
    return bool(moments) and limit is not None and max(moments) < limit


def _moments(extraction: Extraction, field: str) -> Iterator[float]:
    for item in (*extraction.items, *extraction.unemitted, *(each.item for each in extraction.rejected)):
        moment = _moment(item.get(field))
        if moment is not None:
            yield moment


def _moment(value: Any) -> float | None:
    """Return the timestamp of an ISO date, in UTC unless it names a zone; None for any other value."""
    if not isinstance(value, str):
        return None
    try:
        return parse_iso_datetime(value.strip()).timestamp()
    except (ValueError, OverflowError):
        return None


class ReadTimeout:
    """A reader with a time limit."""

    def __init__(self, reader: Reader, longest_s: float) -> None:
        self._reader = reader
        self._limit = TimeLimit(longest_s)

    def read(self, page: Page, request: Request) -> Reading:
        """Read an answer; raise `NotReadable` at the time limit."""
        try:
            return self._limit.run(self._reader.read, page, request)
        except TookTooLong:
            stage = activity.current().stage_name or "reading"
            raise Unreadable(f"took more than {self._limit.longest_s:g} s in {stage}") from None
