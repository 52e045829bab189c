"""Pages that did not bring what they were followed for: empty answers, login forms, lists without items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from smartspider.core.errors import EmptyAnswer, SignedOut
from smartspider.core.pages.extraction import EMPTY, Extraction, Item
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import (
    CursorPagination,
    FieldRule,
    FirstOf,
    HeaderLinkPagination,
    NestedRule,
    NextLinkPagination,
    OffsetPagination,
    PageParamPagination,
    PagePlan,
)
from smartspider.core.requests.request import Request
from smartspider.core.requests.urls import path_of

NO_CONTENT = {202: "accepted, but not answered yet", 204: "no content", 205: "no content"}
_SEARCHED = 500_000
_PASSWORD = re.compile(rb"<input\b[^>]{0,1000}?\btype\s*=\s*[\"']?password\b", re.IGNORECASE)
_LOGIN_PATH = re.compile(
    r"(?:^|[/_.-])(?:log[_-]?in|sign[_-]?in|log[_-]?on|sso|oauth2?|auth|passport|sessions?/new|denglu)(?:[/_.-]|$)",
    re.IGNORECASE,
)
_FROM_ELSEWHERE = ("const", "meta")
"""Rules that read nothing of the page."""


class Expectations:
    """The things that pages of a type should bring, by their plan."""

    def __init__(self, plan: PagePlan) -> None:
        self._is_rules = plan.kind == "rules"
        self._has_items = bool(plan.items)
        self._fields = frozenset(name for name, rule in plan.fields.items() if reads_page(rule))
        self._follows = bool(plan.follow)
        self._pagination = plan.pagination
        self.ends_empty = plan.stop_when.empty or _ends_empty(plan)
        """A list of these pages may end with one that has no items."""
        self.is_promised = isinstance(plan.pagination, NextLinkPagination | HeaderLinkPagination)
        """Each next page is one that a page links to."""

    def check_content(self, page: Page, request: Request) -> bool:
        """Return whether a page has content; raise `EmptyAnswer` if it should."""
        is_empty = not page.body or page.body.isspace()
        reason = NO_CONTENT.get(page.status) or ("the body is empty" if is_empty else "")
        if not reason or not self._is_rules or request.extras.method == "HEAD":
            return True
        if not (self._fields or self._follows or self._pagination is not None):
            return True
        if request.is_next_page and self.ends_empty:
            return False
        raise EmptyAnswer(f"http {page.status}: {reason}")

    def check_signed_in(
        self, page: Page, request: Request, extraction: Extraction, children: Iterable[Request]
    ) -> None:
        """Raise `SignedOut` for a redirect to a login form, unless the task sends a form from there."""
        is_redirected = bool(page.hops) or "redirects" in request.extras.meta
        if not is_redirected or not self._is_rules or not has_password_field(page.body):
            return
        if any(child.extras.method != "GET" for child in children):
            return
        if _LOGIN_PATH.search(path_of(page.url)) is not None or not self.found(extraction):
            raise SignedOut(f"redirected to {page.url}, which asks for a password")

    def found(self, extraction: Extraction) -> int:
        """Return how much of what its rules look for a page has: items with a value, or links to follow."""
        if self._has_items:
            return len(extraction.items) + len(extraction.rejected) + len(extraction.unemitted)
        items = sum(self._has_value(item) for item in (*extraction.items, *extraction.unemitted))
        links = sum(not link.is_pagination for link in extraction.links) if self._follows else 0
        return items + len(extraction.rejected) + links

    def brought(self, extraction: Extraction) -> bool | None:
        """Return whether a page has an item with a value; None if its type has no rules for items."""
        if not self._is_rules or not self._fields:
            return None
        if extraction.rejected:
            return True
        return any(map(self._has_value, extraction.items)) or any(map(self._has_value, extraction.unemitted))

    def lacks_items(self, request: Request, extraction: Extraction) -> bool:
        """Return whether a page of a list has nothing of what the list is followed for."""
        if not request.is_next_page or not self._is_rules or not (self._fields or self._follows):
            return False
        return not self.found(extraction)

    def _has_value(self, item: Item) -> bool:
        return any(item.get(name) not in EMPTY for name in self._fields)


def has_password_field(body: bytes) -> bool:
    """Return whether a page asks for a password."""
    return _PASSWORD.search(body, 0, _SEARCHED) is not None


def is_last(extraction: Extraction) -> bool:
    """Return whether a page leads to no further page of its list."""
    return not any(link.is_pagination for link in extraction.links)


def _ends_empty(plan: PagePlan) -> bool:
    match plan.pagination:
        case PageParamPagination(stop=stop) | OffsetPagination(stop=stop):
            return stop is None
        case CursorPagination():
            return True
        case _:
            return False


def reads_page(rule: FieldRule) -> bool:
    """Return whether a rule takes its value from the content of the page."""
    return any(kind not in _FROM_ELSEWHERE for kind in _types(rule))


def _types(rule: FieldRule) -> Iterator[str]:
    match rule:
        case FirstOf(rules=rules):
            for one in rules:
                yield from _types(one)
        case NestedRule(fields=fields):
            for one in fields.values():
                yield from _types(one)
        case _:
            yield rule.type
