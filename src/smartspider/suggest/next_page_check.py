"""Fetch possible next pages and keep those that continue the list."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

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
from smartspider.suggest.suggestion import NextPage, NextPageState, Suggestion, make_task
from smartspider.taskfile.compile_pages import page_plans
from smartspider.taskfile.load import parse_task

FetchPage = Callable[[str], Awaitable[Page]]
"""Fetches a page as a crawl would: through the gate, with robots.txt; raises `SmartSpiderError`."""

MAX_FETCHES = 3
"""The most pages that are fetched to find the next one."""
_SAME_SHARE = 0.5
_DIGITS = re.compile(r"\d+")
_PAGE_WORDS = re.compile(
    r"\b(?:page|seite|pagina|página|strona|стр\w*|sida|side|p)\b|第|页|頁", re.IGNORECASE
)


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
        tried = [await _check(page, suggestion, one, fetched) for one in paginations]
        found = [one for one in tried if one is not None]
        best = next((one for one in found if one.state == "checked"), found[0] if found else None)
        pagination = best.pagination if best is not None and best.state == "checked" else None
        checked.append(msgspec.structs.replace(suggestion, pagination=pagination, next_page=best))
    return checked


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
    if here is None or url is None:
        return None

    def answer(state: NextPageState, message: str) -> NextPage:
        return NextPage(url, state, message, pagination)

    refusal = _refusal(page, url)
    if refusal is not None:
        return answer("refused", refusal)
    found = await fetched.get(url)
    match found:
        case None:
            return None
        case RobotsDisallowed():
            return answer("refused", "robots.txt disallows it, so a crawl does not follow it")
        case SmartSpiderError():
            return answer("failed", f"it could not be fetched: {found.message}")
    if found.status >= 400:
        return answer("failed", f"it answers with status {found.status}")
    if not _is_same_series(page, found):
        return answer(
            "other", f"it is called {_title(found)!r}: another chapter or section, not more of this list"
        )
    there = _extract(found, suggestion, None, obeys=True)
    if there is None or not there.items:
        return answer("other", "this list is not on it")
    known = {_fingerprint(item) for item in here.items}
    repeated = sum(_fingerprint(item) in known for item in there.items)
    if repeated > _SAME_SHARE * len(there.items):
        return answer("same", f"it has the same items: {repeated} of {len(there.items)}")
    return answer("checked", f"fetched: {len(there.items)} items, {len(there.items) - repeated} of them new")


def _extract(
    page: Page, suggestion: Suggestion, pagination: dict[str, Any] | None, *, obeys: bool
) -> Extraction | None:
    """Extract a page with the rules of a suggestion, without steps."""
    fields = {field.name: _bare(field.rule) for field in suggestion.fields}
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


def _bare(rule: Any) -> Any:
    return {key: value for key, value in rule.items() if key != "steps"} if isinstance(rule, dict) else rule


def _next_url(extraction: Extraction) -> str | None:
    link = next((one for one in extraction.links if one.is_pagination), None)
    return None if link is None else normal_url(link.href, extraction.base)


def _refusal(page: Page, url: str) -> str | None:
    """Return why a crawl of the page would not follow a URL; None if it would."""
    host, own = urlsplit(url).hostname, urlsplit(page.url).hostname
    if host != own:
        return (
            f"it is on another host, out of the scope of the task; add {host} to scope.domains to follow it"
        )
    try:
        is_nofollow = directives_of(Document(page, make_request(page.url))).is_nofollow
    except NotReadable:
        return None
    return (
        "the robots meta element of the page says nofollow, so a crawl follows none of its links"
        if (is_nofollow)
        else None
    )


def _is_same_series(page: Page, other: Page) -> bool:
    """Return True if the URLs or titles differ only as pages of one list do."""
    return _is_url_series(page.url, other.url) or _plain_title(page) == _plain_title(other)


def _is_url_series(one: str, other: str) -> bool:
    """Return True for URLs that differ in their query, in numbers, or in a number appended to the path."""
    mine, its = urlsplit(one), urlsplit(other)
    if mine.path == its.path:
        return mine.query != its.query or one != other
    has_number = any(_DIGITS.search(part) for part in (its.path, its.query))
    if has_number and _DIGITS.sub("0", mine.path) == _DIGITS.sub("0", its.path):
        return True
    start = mine.path.rstrip("/").rpartition(".")[0] or mine.path.rstrip("/")
    if its.path.startswith(start) and _DIGITS.search(its.path[len(start) :]):
        return True
    return any(value.isdecimal() for _, value in parse_qsl(its.query)) and not parse_qsl(mine.query)


def _title(page: Page) -> str:
    try:
        root = Document(page, make_request(page.url)).root
    except NotReadable:
        return ""
    node = root.css_first("h1") or root.css_first("title")
    return " ".join(node.text().split())[:80] if node is not None else ""


def _plain_title(page: Page) -> str:
    """Return the title without numbers and the word page."""
    return re.sub(r"[\W\d_]+", " ", _PAGE_WORDS.sub(" ", _title(page))).strip().casefold()


def _fingerprint(item: Item) -> bytes:
    return msgspec.json.encode(item)
