"""Pagination by page number, offset, cursor and Link header.

The URL determines the current page, so no state is kept between pages.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from smartspider.core.errors import NotReadable
from smartspider.core.pages.extraction import Link
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import (
    CursorPagination,
    HeaderLinkPagination,
    OffsetPagination,
    PageParamPagination,
    PagePlan,
    StopConditions,
)
from smartspider.core.requests.bodies import (
    FORM,
    JSON,
    media_type_of,
    param_of,
    value_at,
    with_content_type,
    with_url_param,
    with_value,
)
from smartspider.core.requests.request import NO_EXTRAS, Extras, Request
from smartspider.core.requests.secrets import escape_values
from smartspider.core.requests.templates import fill_text
from smartspider.core.requests.urls import normal_url
from smartspider.extract.jmes import JmesExpression

if TYPE_CHECKING:
    from smartspider.extract.parsing.document import Document

AT_ONCE = 10_000
"""Pages that the first page of a list with a known end links to; the last of them link on."""
_AHEAD = 8
"""Pages that each further page links to, so that one dead page does not end the list."""


class PageNumbers(msgspec.Struct, frozen=True):
    """The numbers of the pages after the first in a query parameter."""

    param: str
    start: int
    step: int
    stop: int | None
    fixed: tuple[tuple[str, str], ...] = ()
    """Parameters that all pages have in addition."""

    def url(self, url: str, number: int) -> str:
        """Return the URL of the page with this number."""
        for param, value in ((self.param, str(number)), *self.fixed):
            url = with_url_param(url, param, value)
        return url

    def place_of(self, url: str) -> int | None:
        """Return the number of a URL; None for the first page."""
        text = param_of(url, self.param)
        if text is None or not text.isascii() or not text.isdigit() or len(text) > 18:
            return None
        number = int(text)
        is_one = number >= self.start and (number - self.start) % self.step == 0
        return number if is_one and (self.stop is None or number <= self.stop) else None

    def from_(self, number: int, count: int) -> range:
        """Return at most `count` numbers, starting with this one."""
        end = number + self.step * count
        return range(number, end if self.stop is None else min(end, self.stop + 1), self.step)


def has_more_pages(plan: PagePlan, found: int) -> bool:
    """Return True if a page with this many items may have a next one."""
    is_open = (
        isinstance(plan.pagination, PageParamPagination | OffsetPagination) and plan.pagination.stop is None
    )
    return found > 0 or not (is_open or plan.stop_when.empty)


def next_links(
    plan: PagePlan, page: Page, request: Request, document: Document, found: int, *, max_links: int = 50_000
) -> list[Link]:
    """Return links to further pages, except those that a rule finds. `found` is the number of items of the
    page, including rejected ones, or of links if it has no fields. Raise `NotReadable`.
    """
    pagination = plan.pagination
    if pagination is None or not has_more_pages(plan, found):
        return []
    # After a redirect the landing page continues, but the body belongs to the URL it was sent to.
    url = page.url if request.extras.method == "GET" else request.url
    match pagination:
        case PageParamPagination(param=param, start=start, step=step, stop=stop):
            return _numbered(plan, request, url, PageNumbers(param, start, step, stop), max_links=max_links)
        case OffsetPagination(param=param, size=size, limit_param=limit_param, stop=stop):
            fixed = () if limit_param is None else ((limit_param, str(size)),)
            numbers = PageNumbers(param, size, size, stop, fixed)
            return _numbered(plan, request, url, numbers, max_links=max_links)
        case CursorPagination():
            return _after_cursor(pagination, request, url, document)
        case HeaderLinkPagination():
            target = find_next_target(page.headers.get("link", ""))
            href = None if target is None else normal_url(target, page.url)
            return [] if href is None else [_further(request, href)]
        case _:
            return []


def _numbered(
    plan: PagePlan, request: Request, url: str, numbers: PageNumbers, *, max_links: int
) -> list[Link]:
    place = numbers.place_of(url)
    wanted = list(
        numbers.from_(numbers.start if place is None else place + numbers.step, _ahead(plan, numbers))
    )
    if place is None or request.is_entry:
        first = numbers.from_(numbers.start, _at_once(plan, numbers, max_links))
        wanted = list(dict.fromkeys([*first, *wanted]))
    return [_further(request, numbers.url(url, number)) for number in wanted]


def _is_one_by_one(plan: PagePlan, numbers: PageNumbers) -> bool:
    """Return True if the end of the list is only known page by page, so no page is requested ahead."""
    return numbers.stop is None or plan.stop_when != StopConditions()


def _ahead(plan: PagePlan, numbers: PageNumbers) -> int:
    return 1 if _is_one_by_one(plan, numbers) else _AHEAD


def _at_once(plan: PagePlan, numbers: PageNumbers, max_links: int) -> int:
    # Leave half of the limit to the links of the first page.
    return 1 if _is_one_by_one(plan, numbers) else max(min(max_links // 2, AT_ONCE), 1)


def _after_cursor(cursor: CursorPagination, request: Request, url: str, document: Document) -> list[Link]:
    value = _compiled(cursor.expr).search(document.json)
    if not value:
        return []
    extras = request.extras
    if cursor.into == "query":
        text = fill_text("{0}", {"0": value})
        is_same = param_of(url, cursor.param) == text
        return [] if is_same else [_further(request, with_url_param(url, cursor.param, text))]
    if media_type_of(extras.headers) != FORM:
        value = escape_values(value)  # a cursor is no reference to a secret
    if value_at(extras.body, cursor.param) == value:
        return []
    body = with_value(extras.body, extras.headers, cursor.param, value)
    if body is None:
        raise NotReadable(f"the cursor cannot be set at {cursor.param!r} of the body of the request")
    kept = msgspec.structs.replace(
        extras,
        method="POST" if extras.method == "GET" else extras.method,
        headers=with_content_type(JSON, extras.headers),
        body=body,
        version=None,
    )
    return [_further(request, url, kept)]


def _further(request: Request, href: str, extras: Extras = NO_EXTRAS) -> Link:
    """Return a link to a further page, with the request settings of this one."""
    return Link(href, request.page, request.priority, is_pagination=True, extras=extras)


@lru_cache(maxsize=64)
def _compiled(expr: str) -> JmesExpression:
    return JmesExpression(expr)


_LONGEST_HEADER = 65_536
_BETWEEN = re.compile(r"[\s,]*")
_LINK = re.compile(r"<([^<>]*)>")
_PARAM = re.compile(r"""\s*;\s*([^\s=;,"]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?""")
_ESCAPE = re.compile(r"\\(.)")
_TO_COMMA = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|[^,"])*(?:,|$|")""")


def find_next_target(header: str) -> str | None:
    """Return the target of the first `rel=next` link of a Link header (RFC 8288), or None. Several headers
    may be joined by commas; malformed links are skipped.
    """
    at, end = 0, min(len(header), _LONGEST_HEADER)
    while at < end:
        at = _match_end(_BETWEEN, header, at, end)
        link = _LINK.match(header, at, end)
        if link is None:
            at = max(_match_end(_TO_COMMA, header, at, end), at + 1)
            continue
        at = link.end()
        params: dict[str, str] = {}
        while (param := _PARAM.match(header, at, end)) is not None:
            at = param.end()
            quoted, plain = param[2], param[3]
            value = plain or "" if quoted is None else _ESCAPE.sub(r"\1", quoted)
            params.setdefault(param[1].lower(), value)
        if "next" in params.get("rel", "").lower().split() and "anchor" not in params:
            return link[1].strip()
    return None


def _match_end(pattern: re.Pattern[str], header: str, at: int, end: int) -> int:
    found = pattern.match(header, at, end)
    return at if found is None else found.end()
