"""Fetch possible next pages and keep those that continue the list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from smartspider.core.errors import NotReadable, RobotsDisallowed, SmartSpiderError
from smartspider.core.pages.extraction import Extraction, Item
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import DEFAULT_PAGE, make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.core.requests.urls import normal_url
from smartspider.extract.compile import compile_pages
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import directives_of
from smartspider.suggest.draft_check import without_steps
from smartspider.suggest.page_series import is_same_series, page_title
from smartspider.suggest.suggestion import NextPage, NextPageState, Suggestion, make_task
from smartspider.taskfile.compile_pages import page_plans
from smartspider.taskfile.load import parse_task

FetchPage = Callable[[str], Awaitable[Page]]
"""Fetches a page as a crawl would: through the gate, with robots.txt; raises `SmartSpiderError`."""

MAX_FETCHES = 3
"""The most pages that are fetched to find the next one."""
_SAME_SHARE = 0.5


async def check_next_pages(
    page: Page, suggestions: list[Suggestion], paginations: list[dict[str, Any]], fetch: FetchPage
) -> list[Suggestion]:
    """Return the suggestions with the pagination that was found to continue their list."""
    fetched = _FetchedPages(fetch)
    checked = []
    for suggestion in suggestions:
        if suggestion.kind in {"page", "feed", "sitemap"}:
            checked.append(suggestion)
            continue
        best = await _check_all(page, suggestion, paginations, fetched)
        pagination = best.pagination if best is not None and best.state == "checked" else None
        domains = _added_domains(page, best) if pagination is not None else ()
        checked.append(
            msgspec.structs.replace(suggestion, pagination=pagination, next_page=best, domains=domains)
        )
    return checked


async def _check_all(
    page: Page, suggestion: Suggestion, paginations: list[dict[str, Any]], fetched: _FetchedPages
) -> NextPage | None:
    """Return the first next page that continues the list, or else the likeliest one, if any."""
    first = None
    for pagination in paginations:
        found = await _check(page, suggestion, pagination, fetched)
        if found is not None and found.state == "checked":
            return found
        first = first or found
    return first


class _FetchedPages:
    """Fetches each page once, and only a few of them."""

    def __init__(self, fetch: FetchPage) -> None:
        self._fetch = fetch
        self._pages: dict[str, Page | SmartSpiderError] = {}

    async def get(self, url: str) -> Page | SmartSpiderError | None:
        """Return a page or why there is none; None if enough pages were fetched."""
        if url not in self._pages:
            if len(self._pages) >= MAX_FETCHES:
                return None
            try:
                self._pages[url] = await self._fetch(url)
            except SmartSpiderError as error:
                self._pages[url] = error
        return self._pages[url]


async def _check(
    page: Page, suggestion: Suggestion, pagination: dict[str, Any], fetched: _FetchedPages
) -> NextPage | None:
    """Return the next page that a pagination leads to and what it is; None if it leads nowhere."""
    here = _extract(page, suggestion, pagination, obeys=False)
    url = None if here is None else _next_url(here)
    # An XPath pagination makes lxml read the page, where CSS rules may find nothing.
    if here is None or url is None or len(here.items) != suggestion.count:
        return None
    refusal = _refusal(page, url)
    if refusal is not None:
        return NextPage(url, "refused", refusal, pagination)
    found = await fetched.get(url)
    if found is None:
        return None
    if isinstance(found, SmartSpiderError):
        state, message = _failure(found)
    elif _site_of(found.url) != _site_of(page.url):
        state, message = (
            "refused",
            f"it redirects to {urlsplit(found.url).hostname}, out of the scope of the task",
        )
    else:
        state, message = _compare(page, here, found, suggestion)
    return NextPage(url, state, message, pagination)


def _failure(error: SmartSpiderError) -> tuple[NextPageState, str]:
    if isinstance(error, RobotsDisallowed):
        return "refused", "robots.txt disallows it, so a crawl does not follow it"
    return "failed", f"it could not be fetched: {error.message}"


def _compare(page: Page, here: Extraction, other: Page, suggestion: Suggestion) -> tuple[NextPageState, str]:
    """Return whether another page has more of a list, and why it does or does not."""
    if other.status >= 400:
        return "failed", f"it answers with status {other.status}"
    if not is_same_series(page, other):
        return (
            "other",
            f"it is called {page_title(other)!r}: another chapter or section, not more of this list",
        )
    there = _extract(other, suggestion, None, obeys=True)
    if there is None or not there.items:
        return "other", "this list is not on it"
    known = {_fingerprint(item) for item in here.items}
    count = len(there.items)
    repeated = sum(_fingerprint(item) in known for item in there.items)
    if repeated > _SAME_SHARE * count:
        return "same", f"it has the same items: {repeated} of {count}"
    return "checked", f"fetched: {count} items, {count - repeated} of them new"


def _extract(
    page: Page, suggestion: Suggestion, pagination: dict[str, Any] | None, *, obeys: bool
) -> Extraction | None:
    """Extract a page with the rules of a suggestion, without steps."""
    fields = {field.name: without_steps(field.rule) for field in suggestion.fields}
    task = make_task("suggestion", page.url, suggestion.items, fields)
    if pagination is not None:
        task["pagination"] = pagination
    if not obeys:
        task["politeness"] = {"robots": "ignore"}
    try:
        plans = {DEFAULT_PAGE: page_plans(parse_task(task))[DEFAULT_PAGE]}
        return compile_pages(plans, TrapGuards()).extract(page, make_request(page.url))
    except SmartSpiderError:
        return None


def _next_url(extraction: Extraction) -> str | None:
    link = next((one for one in extraction.links if one.is_pagination), None)
    return None if link is None else normal_url(link.href, extraction.base)


def _refusal(page: Page, url: str) -> str | None:
    """Return why a crawl of the page would not follow a URL; None if it would."""
    host = urlsplit(url).hostname
    if _site_of(url) != _site_of(page.url):
        return (
            f"it is on another host, out of the scope of the task; add {host} to scope.domains to follow it"
        )
    try:
        is_nofollow = directives_of(Document(page, make_request(page.url))).is_nofollow
    except NotReadable:
        return None
    refusal = "the robots meta element of the page says nofollow, so a crawl follows none of its links"
    return refusal if is_nofollow else None


def _site_of(url: str) -> str:
    """Return the hostname of a URL without `www`."""
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _added_domains(page: Page, following: NextPage | None) -> tuple[str, ...]:
    """Return the domain of a site whose pages are on its name with and without `www`."""
    is_same = following is None or urlsplit(following.url).hostname == urlsplit(page.url).hostname
    return () if is_same else (_site_of(page.url),)


def _fingerprint(item: Item) -> bytes:
    return msgspec.json.encode(item)
